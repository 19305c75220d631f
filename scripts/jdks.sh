#!/bin/sh
# Fetches JDKs of several versions, and prints their homes: scripts/jdks.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- jdks "$@"
