#!/bin/sh
# Asks flow mcp with clients of the protocol: scripts/verify-mcp.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/scripts/xtask.sh" verify-mcp "$@"
