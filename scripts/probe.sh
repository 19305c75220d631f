#!/bin/sh
# Compiles the probe class, which the agent carries as bytes: scripts/probe.sh [--check]
#
# With --check nothing is written: it compares, and fails where source and bytes disagree. Uses the
# `java` and `javac` of JDK 17, so that the bytes come out the same everywhere.
set -eu
cd "$(dirname "$0")/.."

readonly source=agent/java/java/lang/FlowProbe.java bytes=agent/java/FlowProbe.class

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# For every JDK from 11 on. Class files have no names of variables and no lines: nobody debugs them.
javac -g:none -source 11 -target 11 -Xlint:-options \
    --add-exports java.base/jdk.internal.misc=ALL-UNNAMED --patch-module java.base=agent/java \
    -d "$scratch" "$source"
java --add-exports java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED scripts/probe/Claim.java \
    "$scratch/java/lang/FlowProbe.class"

if [ "${1:-}" != --check ]; then
    cp "$scratch/java/lang/FlowProbe.class" "$bytes"
elif ! cmp -s "$scratch/java/lang/FlowProbe.class" "$bytes"; then
    echo "probe.sh: $bytes is not what $source compiles to; run scripts/probe.sh" >&2
    exit 1
fi
