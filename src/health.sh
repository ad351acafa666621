#!/bin/bash
# Exits 0 while the daemon of a data directory answers /livez, else 1 with the reason: health.sh [DIR]
# bash speaks TCP by itself, so that a check starts no other program.
set -u
dir=${1:-${COFFERER_DATA_DIR:-.cofferer}}
fail() {
  echo "$1"
  exit 1
}
[ -r "$dir/page-address" ] || fail "no daemon has written $dir/page-address: name the directory of --data"
read -r host port path <"$dir/page-address"
exec 2>/dev/null 3<>"/dev/tcp/$host/$port" || fail "nothing listens on $host port $port"
printf 'GET %slivez HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n' "${path:-/}" >&3
read -r -t 5 -u 3 _ status _ || fail "no answer on $host port $port within 5 s"
[ "$status" = 200 ] || fail "/livez on $host port $port answered ${status:-nothing}"
