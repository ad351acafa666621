#!/bin/sh
# Installs the pinned packages when they are missing or older than the lock file, and says so first:
# twelve silent seconds look like a hang.
set -eu
test node_modules/.package-lock.json -nt package-lock.json && exit 0
count=$(grep -c '"node_modules/' package-lock.json || true)
printf 'cofferer  first run: installing %s pinned packages, no install scripts ... ' "$count" >&2
began=$(date +%s)
npm ci --ignore-scripts --no-progress >/dev/null
printf '%s s\n' "$(($(date +%s) - began))" >&2
# npm keeps the time of the archive when nothing changed; the next start compares times.
touch node_modules/.package-lock.json
