#!/bin/sh
# Runs every test: format, lints, docs, unit, golden, property and end-to-end tests on every JDK found.
# First installs what is missing, or reports what to install.
#
#   scripts/test.sh
#
# Every step runs, even if an earlier one fails; the last lines name the steps that failed. Takes about 13 minutes on
# two quiet cores once everything is built. Long forms: scripts/torture.sh (kills, full disks, overflows; all
# combinations of engines, programs and options of the JVM), scripts/builds.sh (Maven, Gradle),
# scripts/verify-corpus.sh, scripts/verify-windows.sh (under Wine), scripts/fuzz.sh, scripts/compare-output.sh.
#
# Environment: FLOW_FUZZ_SECONDS fuzzes each target for that time, and the command line for a minute; FLOW_OFFLINE=1 leaves out
# recipes that need packages which are not installed; FLOW_TEST_JDKS, see scripts/jdks.sh.
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh

failed=""
# Runs a step and prints its duration: step NAME COMMAND…
step() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    began=$(date +%s)
    "$@" || failed="$failed
  $name"
    printf '== %s: %s s\n' "$name" "$(($(date +%s) - began))"
}

licences() {
    if command -v cargo-deny >/dev/null 2>&1; then
        cargo deny --offline check licenses bans sources
    else
        echo "(not checked: cargo-deny is not installed)"
    fi
}

# The tests that failed are named once more at the end of the log, with the beginning and the end of their output: what
# a test prints may have empty lines before its message.
tests() {
    log=$(mktemp)
    {
        RUST_TEST_THREADS="$(($(nproc) + 1))" cargo test --workspace --no-fail-fast && echo "all passed"
    } 2>&1 | tee "$log"
    details=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" && awk '
        function show() {
            for (i = 1; i <= n; i++) if (i <= 15 || i > n - 25) print line[i]
            n = 0
        }
        /^---- .* ----$/ { show(); within = 1 }
        /^failures:$/ { show(); within = 0 }
        within { line[++n] = $0 }' "$log" | head -n 150)
    last=$(tail -n 1 "$log")
    rm "$log"
    [ "$last" = "all passed" ]
}

# Needs a C compiler for Windows, which not every machine has.
windows() {
    if ! command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1 || ! command -v rustup >/dev/null 2>&1; then
        echo "(not checked: the package gcc-mingw-w64-x86-64, or rustup, is not installed)"
        return
    fi
    rustup --quiet target add x86_64-pc-windows-gnu &&
        cargo check --quiet --package flow-cli --target x86_64-pc-windows-gnu
}

java_programs() { (cd java-harness && mvn -q -B package) && (cd java-launcher && mvn -q -B package); }

fuzzing() {
    # Installs the nightly compiler and the fuzzer, which not every machine has.
    cargo +nightly --version >/dev/null 2>&1 ||
        rustup toolchain install nightly --profile minimal --no-self-update || return 1
    command -v cargo-fuzz >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz || return 1
    scripts/fuzz.sh "$FLOW_FUZZ_SECONDS"
}

step formatting cargo fmt --all --check
step lints cargo clippy --workspace --all-targets --quiet -- -D warnings
step "licences of dependencies" licences
step "the flow of Windows" windows
step documentation env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
step "Java programs and their own tests" java_programs
step "the jar of the Java API" scripts/api.sh --check
quiet=--quiet
[ ! -t 2 ] || quiet=
# Everything at once: what follows, and what it runs, builds nothing more but xtask.
step building cargo test --workspace --no-run $quiet
# Includes the short form of scripts/torture.sh. Many tests wait for a program: one more than there are cores at a time.
step tests tests
step "what flow prints, compared with stored digests" scripts/compare-output.sh --sample
step "clients of flow mcp" scripts/verify-mcp.sh
step "recipes of docs/tables.md" scripts/verify-exports.sh --recipes
step "the class of the probes" scripts/probe.sh --check
step "rewritten classes of a JDK and of two libraries" scripts/verify-corpus.sh --fast
if [ -n "${FLOW_FUZZ_SECONDS:-}" ]; then
    step "fuzzing: each target for $FLOW_FUZZ_SECONDS seconds" fuzzing
    step "fuzzing: the command line, for a minute" scripts/fuzz-cli.sh 60
fi

if [ -n "$failed" ]; then
    printf '\nfailed:%s\n%s\n' "$failed" "${details:-}" >&2
    exit 1
fi
printf '\nall steps passed\n'
