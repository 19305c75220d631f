#!/bin/sh
# Fetches JDKs of several versions, and prints their homes: scripts/jdks.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" jdks "$@"
