#!/bin/sh
# Runs tests of the codec under Miri, which detects undefined behaviour, also in dependencies. Only the pure
# parts run: bytes in memory to records and back. Tests that are too slow under Miri are marked in the source.
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

# These names leave out the parts that open files.
cargo +nightly miri test --quiet -p flow-codec --lib -- \
    analysis:: format:: ids:: method_map:: read::flow read::jsonl read::open_chunk \
    scan:: tree::walk write::
cargo +nightly miri test --quiet -p flow-codec --test it -- naive:: raw::
