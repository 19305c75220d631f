#!/bin/sh
# Loads exports with code of the viewers: scripts/verify-exports.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" verify-exports "$@"
