#!/bin/sh
# Loads the exports of a trace with the code of their viewers, as far as that runs without a screen:
#
#   scripts/verify-exports.sh [DIR]      without one: a trace of three threads, and one with times, made here
#
# Names what is missing on this machine, and skips it. Downloads npm and PyPI packages.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
missing=
step() { printf '\n== %s\n' "$*"; }

cargo build --quiet --package flow-cli
flow=${CARGO_TARGET_DIR:-target}/debug/flow

if [ $# -gt 0 ]; then
    trace=$1
else
    trace=$work/trace
    mkdir "$trace"
    printf '%s\n' 'a.B#main([Ljava/lang/String;)V=0' 'a.B#work(I)I=1' 'a.B$C#<init>()V=2' >"$trace/ids.properties"
    # main > (work > (init, init), work); work, still open; two exits of unseen frames, then init.
    printf '\200\201\202\000\202\001\201\001' >"$trace/thread-1.flow"
    printf '\201' >"$trace/thread-12.flow"
    printf '\001\202\000' >"$trace/thread-13.flow"
    cargo run --quiet --package flow-codec --example generate -- \
        --calls 20k --threads 2 --clock 10000 "$work/timed"
    trace="$trace $work/timed"
fi
# Directories without blanks in their names.
number=0
for dir in $trace; do
    number=$((number + 1))
    mkdir "$work/$number"
    for format in perfetto:pftrace chrome:trace.json speedscope:speedscope.json pprof:pb collapsed:collapsed.txt; do
        "$flow" export --to "${format%%:*}" --out "$work/$number/export.${format#*:}" "$dir"
    done
done

step "pprof: go tool pprof"
if command -v go >/dev/null 2>&1; then
    for file in "$work"/*/export.pb; do go tool pprof -top -nodecount=5 "$file" 2>/dev/null; done
else
    missing="$missing go"
fi

step "perfetto: its own descriptors"
if python3 -m venv "$work/venv" 2>/dev/null &&
    "$work/venv/bin/pip" --quiet install perfetto protobuf 2>/dev/null; then
    for file in "$work"/*/export.pftrace; do
        "$work/venv/bin/python" scripts/exports/read_perfetto.py "$file"
    done
else
    missing="$missing python3-with-the-package-perfetto"
fi

step "speedscope, chrome, collapsed: the importers and the schema of speedscope"
if command -v npm >/dev/null 2>&1 &&
    npm install --silent --prefix "$work" speedscope@1.25 ajv@8 >/dev/null 2>&1; then
    node scripts/exports/read_speedscope.mjs "$work/node_modules" "$work"/*/export.speedscope.json \
        "$work"/*/export.trace.json "$work"/*/export.collapsed.txt
else
    missing="$missing npm-with-the-package-speedscope"
fi

if [ -n "$missing" ]; then
    printf '\nnot checked for want of:%s\n' "$missing"
    exit 1
fi
