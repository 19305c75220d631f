#!/bin/sh
# Builds and runs a command of xtask: scripts/xtask.sh --help. On a terminal, cargo's progress is visible.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
quiet=--quiet
[ ! -t 2 ] || quiet=
# Two steps: `cargo run` would also show the command line, which the user knows.
cargo build $quiet --manifest-path "$root/Cargo.toml" --package xtask
exec cargo run --quiet --manifest-path "$root/Cargo.toml" --package xtask -- "$@"
