# Installs k3s on a machine's first boot. cloud-init.ts writes the machine's values above these lines:
#   private_ip  its address in the private network
#   api         URL of the API servers in that network
#   kind        server or agent
#   channel     release channel of k3s
#   san         further names in the certificate of the API server, each after a comma
#   cluster     found, join or found-or-join: what a server does; agents join by their configuration
set -eu
boot=/etc/rancher/k3s/config.yaml.d/boot.yaml

# Asks for the API, up to $1 times more, two seconds apart.
api_answers() {
  curl -sSkf -o /dev/null --max-time 5 --retry "$1" --retry-all-errors --retry-delay 2 "$api/ping"
}

# The private network is attached right after the creation.
waited=0
until ip -4 -oneline address show | grep -qF " $private_ip/"; do
  waited=$((waited + 1))
  if [ "$waited" -gt 120 ]; then
    echo "$private_ip is on no interface: the private network is missing" >&2
    exit 1
  fi
  sleep 1
done

public=$(curl -sf --retry 30 --retry-connrefused --retry-delay 1 http://169.254.169.254/hetzner/v1/metadata/public-ipv4)
mkdir -p "${boot%/*}"
echo "node-external-ip: $public" > "$boot"
if [ "$kind" = server ]; then
  echo "tls-san: [$public$san]" >> "$boot"
fi

# The first of several control planes starts the cluster. If it is replaced later, the others already serve the API behind
# the load balancer, and it must join them instead of starting a second cluster. The others wait for it: k3s exits when it
# cannot join at once.
case $cluster in
  join) api_answers 300 ;;
  found-or-join)
    if api_answers 5; then echo "server: $api"; else echo "cluster-init: true"; fi >> "$boot" ;;
esac

# Saved before it runs: a shell that reads from a broken connection would run half of it and report success.
curl -sfL --retry 10 --retry-delay 2 -o /run/k3s-installer https://get.k3s.io
# Its own downloads are not repeated, and this script runs only once.
tries=1
until INSTALL_K3S_CHANNEL=$channel sh /run/k3s-installer "$kind"; do
  status=$?
  [ "$tries" -lt 5 ] || exit "$status"
  tries=$((tries + 1))
  sleep 10
done
