#!/bin/sh
# Opens pages in a headless Chromium and checks them: scripts/verify-html.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- verify-html "$@"
