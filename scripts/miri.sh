#!/bin/sh
# Runs the codec's tests under Miri, which sees undefined behaviour, of our dependencies too: those that
# neither open files nor start processes. What is too slow there says so where it stands. Takes a few
# minutes.
set -eu
cd "$(dirname "$0")/.."

cargo +nightly --version >/dev/null 2>&1 || {
    echo "miri.sh: the nightly compiler is missing; install it: rustup toolchain install nightly --profile minimal" >&2
    exit 2
}
cargo +nightly miri --version >/dev/null 2>&1 ||
    rustup component add --toolchain nightly miri rust-src

# Of random tests a few cases: they show mistakes of the logic elsewhere.
PROPTEST_CASES=${PROPTEST_CASES:-4} cargo +nightly miri test -p flow-codec --lib --tests
