#!/bin/bash
# usage: ready.sh PORT [PATH]: succeeds when the page on this host answers 200. The health check of Envoys, whose image has a shell.
exec 3<> "/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "${2:-/ready}" >&3
read -r -t 3 _ status _ <&3
[ "$status" = 200 ]
