# Starts Redis as the primary or as a replica of it. The file is written anew at each start, since Sentinel has the truth.
. /etc/redis/lib.sh
sh /etc/redis/redis-users.sh
primary=$(find_primary)
{
  cat /etc/redis/redis.conf
  echo "tls-replication yes"
  echo "replica-announce-ip $self"
  echo "replica-announce-port 6379"
  echo "masteruser replica"
  echo "masterauth $(cat "$passwords/replica")"
  if [ "$primary" != "$self" ]; then echo "replicaof $primary 6379"; fi
} >/data/redis.conf
echo "redis: the primary is $primary"
exec redis-server /data/redis.conf
