#!/bin/sh
# Compares what two builds of flow print: scripts/compare-output.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- compare-output "$@"
