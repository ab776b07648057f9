#!/bin/sh
# Puts the hcloud plugin of a version into a folder: the official binary, checked with the published digest, or else a build of
# the same sources, where the release site cannot be reached. A wrong digest is an error, never a reason to build.
#
#   plugin.sh VERSION SOURCES FOLDER
set -eu
version=$1 sources=$2 folder=$3
site=${PLUGIN_SITE:-https://github.com/pulumi/pulumi-hcloud/releases/download}/v$version
archive=pulumi-resource-hcloud-v$version-linux-$(go env GOARCH).tar.gz
sums=pulumi-hcloud_${version}_checksums.txt
mkdir -p "$folder"
if curl -fsSL --retry 3 -o "$archive" "$site/$archive" && curl -fsSL --retry 3 -o "$sums" "$site/$sums"; then
  # Pulumi runs `shasum ./*.tar.gz`: SHA-1 digests, and names that start with "./".
  digest=$(awk -v name="$archive" '{ sub(/^[*]?([.]\/)?/, "", $2) } $2 == name { print $1; exit }' "$sums")
  case ${#digest} in 40) sum=sha1sum ;; *) sum=sha256sum ;; esac
  echo "$digest  $archive" | $sum --check --status - || { echo "$archive does not have the published digest" >&2; exit 1; }
  tar -xzf "$archive" -C "$folder" pulumi-resource-hcloud
  echo "the official plugin $version"
else
  output=$(cd "$folder" && pwd)/pulumi-resource-hcloud
  go -C "$sources" build -trimpath -buildvcs=false -ldflags "-s -w" -o "$output" .
  echo "a build of the plugin $version, because $site cannot be reached"
fi
rm -f "$archive" "$sums"
