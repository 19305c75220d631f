#!/bin/sh
# Opens pages in a headless Chromium and checks them: scripts/verify-html.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" verify-html "$@"
