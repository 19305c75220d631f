#!/bin/sh
# Rewrites real classes and has JVMs verify and compile them: scripts/verify-corpus.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" verify-corpus "$@"
