#!/usr/bin/env bash
# Fuzzes the readers, the fold and the rewriter: scripts/fuzz.sh [seconds-per-target] [target]
#
# The seeds are the golden files of codec/tests, and class files of java-harness. What the fuzzer learns
# stays in the folders corpus beside the targets, what it breaks in artifacts; neither is committed.
# Exit status: 0 nothing found, 1 a target failed, 2 something is missing or misspelt.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly golden=codec/tests/golden corpus=codec/fuzz/corpus
readonly classes=agent/fuzz/corpus/rewrite
targets=(flow_reader jsonl_reader trace_dir fold rewrite)

refuse() {
    printf 'fuzz.sh: %s\n' "$@" >&2
    exit 2
}

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] ||
    refuse "not a number of seconds: $seconds" "usage: scripts/fuzz.sh [seconds] [target]"
if [[ $# -ge 2 ]]; then
    [[ " ${targets[*]} " == *" $2 "* ]] || refuse "no target $2; there are: ${targets[*]}"
    targets=("$2")
fi

cargo +nightly --version >/dev/null 2>&1 ||
    refuse "the nightly compiler is missing; install it: rustup toolchain install nightly --profile minimal"
cargo fuzz --version >/dev/null 2>&1 ||
    refuse "cargo-fuzz is missing; install it: cargo install cargo-fuzz --locked"
command -v c++ >/dev/null ||
    refuse "a C++ compiler is missing, which libFuzzer is built with; install it: apt-get install g++"

command -v javac >/dev/null ||
    refuse "javac is missing, which makes seeds; install it: apt-get install openjdk-17-jdk-headless"

# Hex with comments on stdin, bytes on stdout.
bytes() {
    printf '%b' "$(sed 's/#.*//' | tr -d ' \n' | sed 's/../\\x&/g')"
}

# One seed for each paragraph of the hex files, and one for the whole of each.
seed_streams() {
    local file paragraphs
    for file in "$golden"/*.hex; do
        bytes <"$file" >"$corpus/flow_reader/$(basename "$file" .hex)"
        paragraphs=$(awk -v RS= 'END { print NR }' "$file")
        for ((i = 1; i <= paragraphs; i++)); do
            awk -v RS= -v i="$i" 'NR == i' "$file" | bytes \
                >"$corpus/flow_reader/$(basename "$file" .hex)-$i"
        done
    done
    for file in "$corpus"/flow_reader/flow*; do
        { printf '\x07' && cat "$file"; } >"$corpus/fold/$(basename "$file")"
    done
}

# The files of a trace, each text file ended by FF; then the length of a thread file, that file, and the
# journal.
seed_dirs() {
    local name trace
    for trace in trace trace-killed; do
        for name in trace.json ids.properties methods.jsonl threads.jsonl; do
            if [[ -f $golden/$trace/$name ]]; then cat "$golden/$trace/$name"; fi
            printf '\xff'
        done >"$corpus/trace_dir/$trace"
        printf '\x03\x80\x81\x82' >>"$corpus/trace_dir/$trace"
        bytes <"$golden/journal.hex" >>"$corpus/trace_dir/$trace"
    done
}

# The folder of a target.
folder() {
    if [[ $1 == rewrite ]]; then echo agent/fuzz; else echo codec/fuzz; fi
}

# Small classes with constructors, handlers and all kinds of methods.
seed_classes() {
    javac -nowarn -d "$classes" java-harness/src/main/java/harness/{Constructors,Exceptions,Shapes}.java
    find "$classes/harness" -name '*.class' -size -9 -exec mv -t "$classes" {} +
    rm -rf "$classes/harness"
}

mkdir -p "$classes" "$corpus"/{flow_reader,jsonl_reader,trace_dir,fold}
seed_streams
seed_dirs
seed_classes
cp "$golden/trace/thread-1.jsonl" "$corpus/jsonl_reader/"

status=0
for target in "${targets[@]}"; do
    printf 'fuzz.sh: %s, %s s\n' "$target" "$seconds" >&2
    cargo +nightly fuzz run --fuzz-dir "$(folder "$target")" "$target" -- \
        -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=1 || status=1
done
exit "$status"
