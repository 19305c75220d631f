#!/bin/sh
# Runs tests of the codec under Miri, which sees undefined behaviour, in what we depend on too: the pure
# parts, bytes in memory to records and back. What is too slow there says so where it stands. Takes
# some minutes.
set -eu
cd "$(dirname "$0")/.."

cargo +nightly --version >/dev/null 2>&1 || {
    echo "miri.sh: the nightly compiler is missing; install it: rustup toolchain install nightly --profile minimal" >&2
    exit 2
}
cargo +nightly miri --version >/dev/null 2>&1 ||
    rustup component add --toolchain nightly miri rust-src

# Of random tests a few cases: others find mistakes of logic.
export PROPTEST_CASES=2
# proptest looks where it is run.
export MIRIFLAGS=-Zmiri-disable-isolation

# Parts that open files are left out by their names.
cargo +nightly miri test --quiet -p flow-codec --lib -- \
    analysis:: format:: ids:: method_map:: read::flow read::jsonl read::open_chunk \
    scan:: tree::walk write::
cargo +nightly miri test --quiet -p flow-codec --test it -- naive:: raw::
