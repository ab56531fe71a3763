#!/bin/sh
# `npm start`: help is there before anything is installed; else what runs the program is installed, and nothing more.
set -eu

for word in "$@"; do
  if [ "$word" = --help ]; then
    exec node scripts/start/usage.mjs
  fi
done
node scripts/install.mjs --production
# One process: signals and exit codes pass through.
exec node_modules/.bin/node scripts/start.ts "$@"
