#!/bin/sh
# Runs Muster with the Node.js that was installed with it. `exec` keeps one process: signals and exit codes pass through.
set -eu

self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
root=$(CDPATH='' cd -- "$(dirname -- "$self")/.." && pwd -P)

# The allocator keeps what it will need in a moment, instead of fetching it from the system again: 10 % of a server's time.
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-@MALLOC_TRIM_THRESHOLD_@}"
export MALLOC_TOP_PAD_="${MALLOC_TOP_PAD_:-@MALLOC_TOP_PAD_@}"
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-@MALLOC_MMAP_THRESHOLD_@}"
exec "$root/lib/node" @NODE_FLAGS@ "$root/lib/start.cjs" "$@"
