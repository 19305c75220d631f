#!/bin/sh
# Compares what two builds of flow print: scripts/compare-output.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" compare-output "$@"
