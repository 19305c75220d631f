#!/bin/sh
# Builds the jar of the Java API, which the command line carries as bytes: scripts/api.sh [--check]
#
# With --check nothing is written: it compares, and fails if source and bytes disagree. Uses the
# `javac` of JDK 17, so that the bytes come out the same everywhere.
set -eu
cd "$(dirname "$0")/.."

# The jar contains the modes of files: those of the sources are made the same everywhere.
umask 022
chmod -R u=rwX,go=rX java-api/src || true

readonly built=java-api/target/flow-api.jar bytes=cli/java/flow-api.jar
(cd java-api && mvn -q -B -Dstyle.color=never clean package)

if [ "${1:-}" != --check ]; then
    cp "$built" "$bytes"
elif ! cmp -s "$built" "$bytes"; then
    echo "api.sh: $bytes is not what java-api builds; run scripts/api.sh" >&2
    exit 1
fi
