#!/bin/sh
# Runs tests of codec and query under Miri, which detects undefined behaviour, also in dependencies. Only the pure
# parts run: bytes in memory to records and back, and sums of these. Tests that are too slow under Miri are marked in the source.
# Takes some minutes.
set -eu
cd "$(dirname "$0")/.."

cargo +nightly --version >/dev/null 2>&1 || {
    echo "miri.sh: the nightly compiler is missing; install it: rustup toolchain install nightly --profile minimal" >&2
    exit 2
}
cargo +nightly miri --version >/dev/null 2>&1 ||
    rustup component add --toolchain nightly miri rust-src

# Few cases of each random test. Mistakes of logic are found without Miri.
export PROPTEST_CASES=2
# proptest reads the working directory.
export MIRIFLAGS=-Zmiri-disable-isolation

# Runs the tests whose names begin with one of these, which leave out the parts that open files. A name that
# matches no test is an error: it would be left out without a word.
run() {
    package=$1
    target=$2
    shift 2
    cargo test --quiet -p "$package" $target -- --list >"$names"
    for name in "$@"; do
        grep -q "^$name" "$names" || { echo "miri.sh: no test begins with $name" >&2; exit 1; }
    done
    cargo +nightly miri test --quiet -p "$package" $target -- "$@"
}
names=$(mktemp)
trap 'rm -f "$names"' EXIT
run flow-codec --lib format:: method_map:: read::decode:: scan:: write::
run flow-codec "--test it" raw::
run flow-query --lib analysis::by_method::report:: analysis::by_path::
run flow-query "--test it" naive::
