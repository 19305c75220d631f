#!/bin/sh
# Builds the jar of the Java API, which the program flow contains: scripts/api.sh [--check]
#
# With --check, writes nothing and fails if the jar differs from the source. Needs the `javac` of JDK 17, so that
# the bytes are the same on every machine.
set -eu
cd "$(dirname "$0")/.."

# The jar contains file modes, so the sources get the same modes on every machine.
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
