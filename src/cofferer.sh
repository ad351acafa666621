#!/bin/sh
# Starts Cofferer on the packaged Node 24, else on the machine's own Node of 22.19 or newer.
set -u
# With it, cd leads elsewhere and says so.
unset CDPATH
# Each of these makes Node or its TLS run other code, or write down what the process holds. A certificate authority of
# the operator's own, NODE_EXTRA_CA_CERTS, is no such thing.
cleared=
names="NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_V8_COVERAGE NODE_ICU_DATA NODE_DEBUG NODE_DEBUG_NATIVE"
names="$names NODE_REDIRECT_WARNINGS OPENSSL_CONF OPENSSL_MODULES"
# Compiled code of this program, in a folder of this user, is what it was compiled from.
if [ -e "${NODE_COMPILE_CACHE-}" ] && [ ! -O "$NODE_COMPILE_CACHE" ]; then names="$names NODE_COMPILE_CACHE"; fi
for name in $names; do
  eval "value=\${$name-}"
  if [ -n "$value" ]; then cleared="$cleared $name"; fi
  unset "$name"
done
if [ -n "$cleared" ]; then
  echo "cofferer: not used:$cleared: such variables could show what this process holds; take them out of its environment" >&2
fi
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done
here=$(cd "$(dirname "$self")/.." && pwd)
node=$here/node_modules/.bin/node
if [ ! -x "$node" ]; then
  node=$(command -v node || true)
  version=$("${node:-false}" -p 'process.versions.node' 2>/dev/null || true)
  major=${version%%.*}
  rest=${version#*.}
  minor=${rest%%.*}
  case $major in '' | *[!0-9]*) major=0 minor=0 ;; esac
  if [ "$major" -lt 22 ] || { [ "$major" -eq 22 ] && [ "$minor" -lt 19 ]; }; then
    echo "cofferer: needs Node 22.19 or newer and found ${version:-none}: run 'npm ci' in $here, which brings Node 24 on Linux x64 and arm64, or install a newer Node" >&2
    exit 1
  fi
fi
# An image has a bundle instead of sources. Where there are sources they are run, and no bundle of older ones.
main=$here/src/main.ts
if [ ! -e "$main" ]; then
  main=$here/src/main.mjs
elif [ ! -e "$here/node_modules/.package-lock.json" ]; then
  # npm writes this file last: without it an installation was cut short, or runs now.
  echo "cofferer: its packages are not installed: run 'npm ci --ignore-scripts' in $here" >&2
  exit 1
fi
# What this program was compiled to, beside it: the next start takes half the processor time.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$here/node_modules/.cache/compiled}"
# Threads of glibc keep what they freed; one heap for all of them gives it back.
export MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
# A memory image would hold the keys.
ulimit -c 0
# What it writes is nobody else's: the store, the socket, tokens.
umask 077
# --report-exclude-env: a diagnostic report tells no variables of the environment.
# --inspect-port: an address that no host has, so that SIGUSR1 opens no inspector of a process that holds keys.
# --disable-sigusr1 would block the signal, which asks the daemon for its state.
# --no-maglev: that compiler took 15 MB for some functions of Node and gave none back, and made no poller faster.
# --max-...: left to itself the heap grows to twice what 10,000 rows a second need before it is collected.
sizes="--no-maglev --max-semi-space-size=4"
# For many treasuries both cost more than they save: without them, a transaction takes a quarter less processor time.
for argument; do
  if [ -e "$argument/daemon.yaml" ]; then sizes="--max-semi-space-size=32"; fi
done
# shellcheck disable=SC2086
exec "$node" --inspect-port=192.0.2.1:9229 --report-exclude-env $sizes --max-old-space-size=1024 --disable-warning=ExperimentalWarning "$main" "$@"
