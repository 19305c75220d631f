#!/bin/sh
# Runs builds that run tests, with flow and without: scripts/builds.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" builds "$@"
