{{- define "lotse.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The default selectorLabels in HCCM's values refer to it. */}}
{{- define "hcloud-cloud-controller-manager.name" -}}{{ include "lotse.name" . }}{{- end -}}

{{- define "lotse.selectorLabels" -}}
{{- tpl (toYaml .Values.selectorLabels) $ -}}
{{- end -}}

{{- define "lotse.labels" -}}
{{ include "lotse.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "lotse.image" -}}
{{- printf "%s:%s" .Values.image.repository (tpl (default (printf "v%s" .Chart.Version) .Values.image.tag) $) -}}
{{- end -}}

{{/* Name of the stack, in the form that names of Kubernetes objects contain it. */}}
{{- define "lotse.cluster" -}}
{{- $name := include "lotse.text" (get .Values.args "cluster-name") | default "kubernetes" | lower -}}
{{- regexReplaceAll "[^a-z0-9.-]" $name "-" -}}
{{- end -}}

{{- define "lotse.securePort" -}}
{{- include "lotse.text" (get .Values.args "secure-port") | default "10258" -}}
{{- end -}}

{{/* Name of the Lease, and of the leader's metric; empty without leader election. Alerts and dashboard have the default. */}}
{{- define "lotse.lease" -}}
{{- if not (has (include "lotse.text" (get .Values.args "leader-elect") | lower) (list "false" "f" "0")) -}}
{{- include "lotse.text" (get .Values.args "leader-elect-resource-name") | default "cloud-controller-manager" -}}
{{- end -}}
{{- end -}}

{{/* A YAML value as the text of a flag; null has none. Otherwise large numbers render as 1e+06, and `default` replaces 0. */}}
{{- define "lotse.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else if not (kindIs "invalid" .) }}{{ . }}{{ end -}}
{{- end -}}

{{/* Flags derived from other values, overridden by `args`. */}}
{{- define "lotse.args" -}}
{{- $args := dict "leader-elect" "true" -}}
{{- with .Values.state.backend }}{{ $_ := set $args "state" . }}{{ end -}}
{{- if .Values.networking.enabled }}{{ $_ := set $args "cluster-cidr" .Values.networking.clusterCIDR }}{{ end -}}
{{- range $name, $value := .Values.args }}{{ $_ := set $args $name $value }}{{ end -}}
- run
{{- range $name, $value := $args }}
{{- if not (kindIs "invalid" $value) }}
{{- $text := include "lotse.text" $value }}
- {{ if eq $text "" }}{{ printf "--%s" $name | quote }}{{ else }}{{ printf "--%s=%s" $name $text | quote }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Environment derived from other values, overridden by `env`. */}}
{{- define "lotse.env" -}}
{{- $env := dict "POD_NAMESPACE" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace"))) -}}
{{- if include "lotse.mountsToken" . }}{{ $_ := set $env "HCLOUD_TOKEN_FILE" (dict "value" "/etc/hcloud/token") }}{{ end -}}
{{- if .Values.networking.enabled -}}
{{- $_ := set $env "HCLOUD_NETWORK" (.Values.networking.network | default (include "lotse.fromSecret" "network" | fromYaml)) -}}
{{- end -}}
{{- if .Values.robot.enabled -}}
{{- $_ := set $env "ROBOT_ENABLED" (dict "value" "true") -}}
{{- $_ := set $env "ROBOT_USER" (include "lotse.fromSecret" "robot-user" | fromYaml) -}}
{{- $_ := set $env "ROBOT_PASSWORD" (include "lotse.fromSecret" "robot-password" | fromYaml) -}}
{{- end -}}
{{- with .Values.loadBalancerClass }}{{ $_ := set $env "LOTSE_LOAD_BALANCER_CLASS" (dict "value" .) }}{{ end -}}
{{- with .Values.adoption }}{{ $_ := set $env "LOTSE_ADOPTION" (dict "value" .) }}{{ end -}}
{{- with .Values.tlsSecrets }}{{ if .enabled -}}
{{- $_ := set $env "LOTSE_TLS_SECRETS" (dict "value" (.namespaces | join "," | default "true")) -}}
{{- end }}{{ end -}}
{{- if not .Values.monitoring.enabled }}{{ $_ := set $env "HCLOUD_METRICS_ENABLED" (dict "value" "false") }}{{ end -}}
{{- range $name, $value := .Values.env }}{{ $_ := set $env $name $value }}{{ end -}}
{{- $keys := dict "HCLOUD_TOKEN" "token" "HCLOUD_NETWORK" "network" "ROBOT_USER" "robot-user" "ROBOT_PASSWORD" "robot-password" -}}
{{- range $name, $value := $env }}
{{- if $value }}
{{- if and (hasKey $keys $name) (($value.valueFrom).secretKeyRef) }}
{{- $value = mergeOverwrite (include "lotse.fromSecret" (get $keys $name) | fromYaml) $value }}
{{- end }}
- name: {{ $name }}
{{- range $field, $source := $value }}{{ if not (kindIs "invalid" $source) }}
  {{- tpl (toYaml (dict $field $source)) $ | nindent 2 }}
{{- end }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A key of HCCM's Secret. As in its chart, only the credentials of Robot are optional. */}}
{{- define "lotse.fromSecret" -}}
valueFrom: { secretKeyRef: { name: hcloud, key: {{ . }}{{ if hasPrefix "robot-" . }}, optional: true{{ end }} } }
{{- end -}}

{{/* Non-empty when the token is mounted as a file. */}}
{{- define "lotse.mountsToken" -}}
{{- if not (or (get .Values.env "HCLOUD_TOKEN") (get .Values.env "HCLOUD_TOKEN_FILE")) }}true{{ end -}}
{{- end -}}

{{- define "lotse.subjects" -}}
- kind: ServiceAccount
  name: {{ include "lotse.name" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
