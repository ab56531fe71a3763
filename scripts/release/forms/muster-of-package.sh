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

# The C library's allocator, as a clone's bin/muster sets it and explains.
@ALLOCATOR@
exec "$root/lib/node" @NODE_FLAGS@ "$root/lib/start.cjs" "$@"
