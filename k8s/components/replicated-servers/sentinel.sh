# Runs the Sentinel of this pod. Its file is kept: it has its identity and the epochs of failovers. A Sentinel reads its certificate only
# when it starts, so it is started again when that was renewed.
. /etc/redis/lib.sh
if [ ! -s /data/sentinel.conf ]; then
  primary=$(find_primary)
  cat >/data/sentinel.conf <<EOF
port 0
tls-port 26379
tls-cert-file /certificates/tls.crt
tls-key-file /certificates/tls.key
tls-ca-cert-file /certificates/ca.crt
tls-auth-clients yes
tls-replication yes
protected-mode no
unixsocket /certificates/sentinel.sock
unixsocketperm 700
dir /data
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $self
sentinel announce-port 26379
sentinel monitor $primary_name $primary 6379 2
sentinel down-after-milliseconds $primary_name 3000
sentinel failover-timeout $primary_name 10000
sentinel parallel-syncs $primary_name 2
EOF
fi
# Users and passwords are those of now, whatever the file had.
hash() { tr -d '\n' <"$1" | sha256sum | cut -d ' ' -f 1; }
{
  sed '/^user /d; /^sentinel auth-/d; /^sentinel sentinel-/d' /data/sentinel.conf
  echo "user default reset on nopass +ping"
  while read -r user rules; do
    echo "user $user reset on #$(hash "$passwords/$user") $rules"
  done </etc/redis/sentinel-users.txt
  password=$(cat "$passwords/sentinel")
  echo "sentinel auth-user $primary_name sentinel"
  echo "sentinel auth-pass $primary_name $password"
  echo "sentinel sentinel-user sentinel"
  echo "sentinel sentinel-pass $password"
} >/data/sentinel.conf.new
mv /data/sentinel.conf.new /data/sentinel.conf
child=
trap 'kill -TERM "$child" 2>/dev/null; wait "$child"; exit 0' TERM INT
while :; do
  used=$(cksum </certificates/tls.crt)
  redis-server /data/sentinel.conf --sentinel &
  child=$!
  while kill -0 "$child" 2>/dev/null && [ "$(cksum </certificates/tls.crt)" = "$used" ]; do sleep 5 & wait $!; done
  if ! kill -0 "$child" 2>/dev/null; then wait "$child"; fi
  echo "sentinel: the certificate was renewed, starting again"
  kill -TERM "$child"
  wait "$child" || true
done
