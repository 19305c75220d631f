#!/bin/sh
# Records a real program and shows what it did: javac as it compiles one file, or a command of yours.
#
#   scripts/record.sh                          javac compiling a small program
#   scripts/record.sh java -jar app.jar        a program of yours
#
# First builds flow (profile `trial`: quicker to build than a release), and installs what is missing for that,
# or reports what to install.
set -eu
[ -z "${JAVA_HOME:-}" ] || PATH="$JAVA_HOME/bin:$PATH"
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/setup.sh" record
echo "Building flow (the first time some minutes) ..." >&2
quiet=--quiet
# On a terminal, cargo shows its progress.
[ ! -t 2 ] || quiet=
cargo build --profile trial $quiet --manifest-path "$root/Cargo.toml" -p flow-agent -p flow-cli
target=$(cargo metadata --format-version 1 --no-deps --offline --manifest-path "$root/Cargo.toml" |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
flow="$target/trial/flow"

if [ $# -gt 0 ]; then
    # The newest run in the folder flow-trace.
    out=
    set -- -- "$@"
else
    out="$target/record.flowtrace"
    set -- --all --out "$out" -- java -m jdk.compiler/com.sun.tools.javac.Main -proc:none \
        -d "$target/record-classes" "$root/java-harness/src/main/java/harness/Recursion.java"
fi
status=0
"$flow" record "$@" || status=$?

echo
echo "What was called, in order (flow replay --collapse --depth 5 --max 60):"
echo
"$flow" replay --collapse --depth 5 --max 60 ${out:+"$out"}
echo
echo "Which methods did the most (flow report --max 20):"
echo
"$flow" report --max 20 ${out:+"$out"}
exit "$status"
