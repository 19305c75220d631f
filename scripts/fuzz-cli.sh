#!/bin/sh
# Changes real traces, and runs every verb that reads them: scripts/fuzz-cli.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" fuzz-cli "$@"
