#!/bin/sh
# Compiles the probe class, whose bytes the agent contains: scripts/probe.sh [--check]
#
# With --check, writes nothing and fails if the bytes differ from the source. Needs a C compiler, whose preprocessor
# expands the macros, and `java` and `javac` of JDK 17, so that the bytes are the same on every machine.
set -eu
cd "$(dirname "$0")/.."

readonly source=agent/java/FlowProbe.java.in bytes=agent/java/FlowProbe.class

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/java/lang"
cc -E -P -undef -x c "$source" >"$scratch/java/lang/FlowProbe.java"
# For every JDK from 11 on. Without debug information, which nobody needs.
javac -g:none -source 11 -target 11 -Xlint:-options \
    --add-exports java.base/jdk.internal.misc=ALL-UNNAMED --patch-module "java.base=$scratch" \
    -d "$scratch" "$scratch/java/lang/FlowProbe.java"
java --add-exports java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED scripts/probe/Claim.java \
    "$scratch/java/lang/FlowProbe.class"

if [ "${1:-}" != --check ]; then
    cp "$scratch/java/lang/FlowProbe.class" "$bytes"
elif ! cmp -s "$scratch/java/lang/FlowProbe.class" "$bytes"; then
    echo "probe.sh: $bytes is not what $source compiles to; run scripts/probe.sh" >&2
    exit 1
fi
