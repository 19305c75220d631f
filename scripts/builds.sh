#!/bin/sh
# Runs builds that run tests, with flow and without: scripts/builds.sh --help
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- builds "$@"
