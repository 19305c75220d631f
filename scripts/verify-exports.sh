#!/bin/sh
# Loads exports with code of the viewers: scripts/verify-exports.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- verify-exports "$@"
