# What the containers of a pod share: its name, and which server is the primary.
set -eu
primary_name=flotilla
domain="flotilla-redis.$POD_NAMESPACE.svc"
self="$POD_NAME.$domain"
passwords=/var/run/secrets/redis
umask 077

# The primary that a majority of running Sentinels would name, as the first one that answers reports it; else the one that the Sentinel
# of this pod had last; else the first pod.
find_primary() {
  for i in 0 1 2; do
    host="flotilla-redis-$i.$domain"
    [ "$host" = "$self" ] && continue
    found=$(REDISCLI_AUTH=$(cat "$passwords/sentinel") timeout 3 redis-cli --user sentinel --tls --cert /certificates/tls.crt --key /certificates/tls.key --cacert /certificates/ca.crt \
      -h "$host" -p 26379 sentinel get-master-addr-by-name "$primary_name" 2>/dev/null | head -n 1) || true
    case $found in flotilla-redis-*) echo "$found"; return ;; esac
  done
  found=$(sed -n "s/^sentinel monitor $primary_name \([^ ]*\) .*/\1/p" /data/sentinel.conf 2>/dev/null | tail -n 1) || true
  echo "${found:-flotilla-redis-0.$domain}"
}
