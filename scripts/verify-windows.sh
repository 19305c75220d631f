#!/bin/sh
# Runs the flow of Windows under Wine, and compares it with that of Linux: scripts/verify-windows.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" verify-windows "$@"
