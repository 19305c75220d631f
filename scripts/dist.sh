#!/bin/sh
# Makes the files of a release: scripts/dist.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" dist "$@"
