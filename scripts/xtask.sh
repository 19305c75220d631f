#!/bin/sh
# Builds and runs a command of xtask: scripts/xtask.sh --help. On a terminal, cargo's progress is visible.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
quiet=--quiet
[ ! -t 2 ] || quiet=
# Of the whole workspace, so that its parts are those that the tests have built.
cargo build $quiet --manifest-path "$root/Cargo.toml" --workspace --bin xtask
target=$(cargo metadata --format-version 1 --no-deps --offline --manifest-path "$root/Cargo.toml" |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
exec "$target/debug/xtask" "$@"
