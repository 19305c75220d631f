#!/bin/sh
# Passes every test: format, lints, docs, unit, golden, property and end-to-end tests on every JDK
# found. Installs or names what is missing first. Takes a few minutes.
set -eu
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; }

scripts/setup.sh

step formatting
cargo fmt --all --check

step lints
cargo clippy --workspace --all-targets --quiet -- -D warnings
if command -v cargo-deny >/dev/null 2>&1; then
    cargo deny --offline check licenses bans sources
else
    echo "(dependency licences not checked: cargo-deny is not installed)"
fi

step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

step "Java programs and their own tests"
(cd java-harness && mvn -q -B package)
scripts/api.sh --check

# With the short form of scripts/torture.sh.
step tests
cargo build --workspace --quiet
cargo test --workspace

step "rewritten classes of a JDK and of two libraries"
scripts/probe.sh --check
scripts/verify-corpus.sh --fast

# Not on every machine: it needs a nightly compiler and builds fuzzers.
if [ -n "${FLOW_FUZZ_SECONDS:-}" ]; then
    cargo +nightly --version >/dev/null 2>&1 ||
        rustup toolchain install nightly --profile minimal --no-self-update
    step "fuzzing: each target for $FLOW_FUZZ_SECONDS seconds"
    command -v cargo-fuzz >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
    scripts/fuzz.sh "$FLOW_FUZZ_SECONDS"
fi
