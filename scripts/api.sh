#!/bin/sh
# Builds the jar of the Java API, which the command line carries as bytes: scripts/api.sh [--check]
#
# With --check no bytes are written: it compares, and fails where source and bytes disagree. Uses the
# `javac` of JDK 17, so that the bytes come out the same everywhere.
set -eu
cd "$(dirname "$0")/.."

# The modes of files stand in the jar: those of the sources are made what they are everywhere.
umask 022
chmod -R u=rwX,go=rX java-harness/api/src || true

readonly built=java-harness/api/target/flow-api.jar bytes=cli/java/flow-api.jar
(cd java-harness/api && mvn -q -B -Dstyle.color=never clean package)

if [ "${1:-}" != --check ]; then
    cp "$built" "$bytes"
elif ! cmp -s "$built" "$bytes"; then
    echo "api.sh: $bytes is not what java-harness/api builds; run scripts/api.sh" >&2
    exit 1
fi
