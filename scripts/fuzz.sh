#!/bin/sh
# Fuzzes every reader, the encoder and the rewriter: scripts/fuzz.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- fuzz "$@"
