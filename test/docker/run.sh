#!/bin/sh
# Runs a command as the container would, without a container engine: run.sh FOLDER NODE COMMAND [ARGUMENT ...]
# FOLDER holds image/app, data, config and env; NODE is the Node that stands for the base image's.
# The root and everything below it are read-only, but for /data and /tmp; the user is 10001 without any capability; the
# network is a loopback of its own.
set -eu
folder=$1 node=$2
shift 2
set -- --remount-ro / --chdir /app "$@"
while IFS='=' read -r name value; do
  set -- --setenv "$name" "$value" "$@"
done <"$folder/env"
for system in /lib /lib64 /bin; do
  [ ! -e "$system" ] || set -- --ro-bind "$system" "$system" "$@"
done
exec bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL --uid 10001 --gid 10001 \
  --clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin \
  --ro-bind /usr /usr --tmpfs /usr/local/bin --ro-bind "$node" /usr/local/bin/node --remount-ro /usr/local/bin \
  --proc /proc --dev /dev --tmpfs /tmp \
  --ro-bind "$folder/image/app" /app --bind "$folder/data" /data --ro-bind "$folder/config" /config "$@"
