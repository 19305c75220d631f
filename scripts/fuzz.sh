#!/bin/sh
# Fuzzes every reader, the encoder and the rewriter: scripts/fuzz.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" fuzz "$@"
