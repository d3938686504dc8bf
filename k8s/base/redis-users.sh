# Writes the users of Redis: the rules of /etc/redis/redis-users.txt, with hashes of the passwords that ca or Compose made.
set -eu
umask 077
passwords=/var/run/secrets/redis
own=/certificates
until [ -s "$own/ca.crt" ]; do sleep 0.2; done

hash() { tr -d '\n' <"$1" | sha256sum | cut -d ' ' -f 1; }

# Another one at each start, for the container that renews the certificate.
head -c 32 /dev/urandom | sha256sum | cut -d ' ' -f 1 >"$own/redis.password"
{
  # Whoever has a certificate may ask whether it is there; probes do.
  echo "user default reset on nopass +ping"
  echo "user certificate reset on #$(hash "$own/redis.password") +config|set"
  while read -r user rules; do
    echo "user $user reset on #$(hash "$passwords/$user") $rules"
  done </etc/redis/redis-users.txt
} >"$own/users.acl"
