#!/bin/sh
# Runs NATS once its certificate is there, and sends it SIGHUP when the files of the certificate are others: whoever renews them shares
# files with the server, no processes. Ends with the server, and passes SIGTERM on. Ends a server that does not write its streams, for the
# engine to start again: an engine restarts no container for a failing health check.
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

# A stream that could not be written once, since the disk was full, is written again after a restart only
# (docs/decisions/0263-nats-after-a-full-disk.md). While the disk is full a restart changes nothing.
has_room() { [ "$(df -Pk /data | awk 'NR == 2 { print $4 }')" -gt 1024 ]; }
healthy() { wget -q -T 5 -O /dev/null "http://127.0.0.1:8222/healthz$1"; }
end_when_failing() {
  # One that reads its streams from the disk answers nobody yet.
  until healthy "?js-server-only=true"; do sleep 2; done
  failed=0
  while sleep 10; do
    if healthy || ! has_room; then failed=0; else failed=$((failed + 1)); fi
    [ $failed -lt 6 ] || kill -TERM "$1" || return
  done
}

# Before the start: what is renewed meanwhile is loaded once more.
before=$(cksum $files)
nats-server "$@" &
server=$!
reload_on_change "$before" $server &
end_when_failing $server &
trap 'kill -TERM $server' TERM INT
wait $server
status=$?
# A signal ends `wait` before the server has ended.
while kill -0 $server 2> /dev/null; do
  wait $server
  status=$?
done
exit $status
