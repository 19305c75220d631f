#!/bin/sh
# Measures what recording costs: scripts/bench.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/setup.sh"
exec "$root/scripts/xtask.sh" bench "$@"
