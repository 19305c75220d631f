#!/bin/sh
# Checks that everything is there to build and test flow: scripts/setup.sh [record]
#
# Installs what is missing on Debian and similar systems if run as root; otherwise reports what to install.
# With `record`, checks only what recording needs.
set -eu
cd "$(dirname "$0")/.."

need_rust=1.95
missing=""
[ -z "${JAVA_HOME:-}" ] || PATH="$JAVA_HOME/bin:$PATH"

have() { command -v "$1" >/dev/null 2>&1; }

can_install() { have apt-get && [ "$(id -u)" = 0 ]; }

# Waits for other installations to finish, and retries because mirrors fail now and then.
apt() {
    DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@" >&2
}

# Runs once. A fresh machine has no list of packages.
update() { [ -n "${updated:-}" ] || { apt update && updated=1; }; }

# Checks for a command: want COMMAND DEBIAN-PACKAGE PURPOSE
want() {
    have "$1" && return
    if can_install; then
        echo "setup: installing $2 ($3)" >&2
        update || true
        apt install -y --no-install-recommends "$2" || true
        have "$1" && return
    fi
    missing="$missing
  $1: $3. Debian: apt-get install $2"
}

want cc gcc "links programs, and compiles the counting agent of the tests"
# Not every release has this package. Any JDK from version 17 on will do.
jdk=openjdk-17-jdk-headless
if ! have javac && can_install; then update || true; fi
if have apt-cache && ! apt-cache show "$jdk" >/dev/null 2>&1; then jdk=default-jdk-headless; fi
want javac "$jdk" "a JDK to record programs with, version 17 or later"
if [ "${1:-}" != record ]; then
    want mvn maven "builds the Java programs of the tests"
    want unzip unzip "unpacks libraries whose classes the tests rewrite"
    if [ -n "${FLOW_FUZZ_SECONDS:-}" ]; then
        want c++ g++ "builds the fuzzer"
        want x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 "compiles C for Windows"
        # A module of Python, not a command; without it, tests leave out what they need it for.
        if ! python3 -c 'import ensurepip' 2>/dev/null && can_install; then
            update || true
            apt install -y --no-install-recommends python3-venv || true
        fi
    fi
fi

if have cargo && have rustc; then
    version=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n%s\n' "$need_rust" "$version" | sort -V | head -n 1)" != "$need_rust" ]; then
        if have rustup; then
            echo "setup: rustc is $version; updating to stable" >&2
            rustup update stable >&2 || missing="$missing
  rustc $need_rust: this is $version. Run: rustup update stable"
        else
            missing="$missing
  rustc $need_rust: this is $version. Get a newer one from https://rustup.rs"
        fi
    fi
    if [ "${1:-}" != record ]; then
        for component in clippy rustfmt; do
            # Not `have`: rustup installs the command even without the component.
            cargo "${component#rust}" --version >/dev/null 2>&1 ||
                { have rustup && rustup component add "$component" >&2; } ||
                missing="$missing
  $component: checks the sources. Run: rustup component add $component"
        done
    fi
else
    missing="$missing
  cargo: Rust $need_rust or later. Get it from https://rustup.rs"
fi

if [ -n "$missing" ]; then
    echo "setup: missing:$missing" >&2
    exit 1
fi
