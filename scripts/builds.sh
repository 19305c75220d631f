#!/bin/bash
# Builds that run tests, with flow and without, in many ways: scripts/builds.sh
#
# Maven runs java-harness/suite in one JVM and in several, one after the other and at once, with class loaders of
# its own, with arguments of its own, under JaCoCo; on every JDK found. Each time, results and coverage must be the
# same with flow, and the tree of each test exactly what its methods logged. The same goes for the results of the
# thousands of tests of commons-lang3, under JUnit's console launcher. scripts/test.sh runs the first of these. Takes about half an hour, and fetches libraries from Maven Central.
set -euo pipefail
cd "$(dirname "$0")/.."
FLOW_BUILDS=all cargo test --quiet -p flow-e2e --test e2e -- --nocapture builds::

cargo build --quiet -p flow-cli -p flow-agent
target=$(cargo metadata --format-version 1 --no-deps --offline |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
readonly target work=$target/builds lib=$target/builds/lang3
[[ -d $lib ]] ||
    mvn -q -B -f scripts/bench/lang3/pom.xml dependency:copy-dependencies -DoutputDirectory="$lib"

# Writes the result of each test of commons-lang3, on JDK $1, to the file $2; further arguments go before the JVM.
# Excluded are benchmarks, which need further libraries, and three classes that take as long as all others together.
outcomes() {
    local home=$1 file=$2 opens=() package
    shift 2
    for package in lang lang.reflect net text time time.chrono util util.concurrent; do
        opens+=(--add-opens "java.base/java.$package=ALL-UNNAMED")
    done
    rm -rf "$work/reports"
    # Some tests fail on any JDK, because they read files that are in no jar.
    "$@" "$home/bin/java" "${opens[@]}" -jar "$lib"/junit-platform-console-standalone-*.jar execute \
        --disable-banner --details none --reports-dir "$work/reports" \
        --class-path "$(printf '%s\n' "$lib"/*.jar | grep -v console | paste -sd:)" \
        --select-package org.apache.commons.lang3 --include-classname '.*Test' \
        --exclude-classname '.*(jmh_generated|FastDateParser).*' >"$work/said" 2>&1 || true
    # The order does not matter.
    awk '/<testcase / { test = $0; sub(/ time="[^"]*"/, "", test); outcome = "" }
         match($0, /^<(failure|error|skipped)/) { outcome = substr($0, 2, RLENGTH - 1) }
         /^<\/testcase>/ { print test, outcome }' \
        "$work"/reports/*.xml | sed 's/@[0-9a-f]\{5,\}/@/' | LC_ALL=C sort >"$file"
    [[ $(wc -l <"$file") -gt 5000 ]] || { cat "$work/said" && exit 1; } >&2
}

seen=" "
for home in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release" 2>/dev/null) || continue
    [[ -n $version && $version -ge 11 && -x $home/bin/java && $seen != *" $version "* ]] || continue
    seen+="$version "
    outcomes "$home" "$work/alone"
    outcomes "$home" "$work/recorded" "$target/debug/flow" record --agent "$target/debug/libflowagent.so" \
        --out "$work/trace" --include 'org.apache.commons.lang3.**' --
    diff "$work/alone" "$work/recorded" ||
        { echo "builds.sh: commons-lang3 on JDK $version: results differ" >&2 && exit 1; }
    "$target/debug/flow" check "$work/trace" >/dev/null
    echo "commons-lang3 on JDK $version: $(grep -c '<testcase' "$work/alone") tests, the same results"
    rm -rf "$work/trace" "$work/trace.old"
done
