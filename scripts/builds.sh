#!/bin/sh
# Builds that run tests, with flow and without, in every way there is: scripts/builds.sh
#
# Maven runs java-harness/suite in one JVM and in several, one after the other and at once, with class loaders of
# its own, with arguments of its own, under JaCoCo; on every JDK found. Each time the results must be the same, the
# coverage too, and the tree of each test exactly what its methods logged. scripts/test.sh runs the first of
# these. Takes about ten minutes, and fetches libraries from Maven Central.
set -eu
cd "$(dirname "$0")/.."
export FLOW_BUILDS=all
cargo test --quiet -p flow-e2e --test e2e -- --nocapture builds::
