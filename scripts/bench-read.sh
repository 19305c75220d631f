#!/bin/sh
# Measures how fast traces are read: scripts/bench-read.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" bench-read "$@"
