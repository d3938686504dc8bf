#!/bin/sh
# Runs NATS once its certificate is there, and sends it SIGHUP when the files of the certificate are others: whoever renews them shares
# files with the server, no processes. Ends with the server, and passes SIGTERM on.
files="/certificates/tls.key /certificates/tls.crt /certificates/ca.crt"
until [ -s /certificates/ca.crt ]; do sleep 0.2; done

reload_on_change() {
  loaded=$1
  while sleep 5; do
    current=$(cksum $files)
    [ "$current" != "$loaded" ] || continue
    kill -HUP "$2" && loaded=$current
  done
}

# Before the start: what is renewed meanwhile is loaded once more.
before=$(cksum $files)
nats-server "$@" &
server=$!
reload_on_change "$before" $server &
trap 'kill -TERM $server' TERM INT
wait $server
status=$?
# A signal ends `wait` before the server has ended.
while kill -0 $server 2> /dev/null; do
  wait $server
  status=$?
done
exit $status
