#!/bin/sh
# Opens pages of `flow report --html` in a headless Chromium, and checks what they show and do:
#
#   scripts/verify-html.sh [DIR]      also the page of this trace; checks less of it
#
# Three traces are made here: a small one, one of 20 million calls, one whose names try to become
# code. Screenshots go to target/html/. Missing packages are installed in target/browser/, from npm.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
work=$target/html
tools=$target/browser
mkdir -p "$work" "$tools"
step() { printf '\n== %s\n' "$*"; }

command -v node >/dev/null 2>&1 || { echo "verify-html.sh: Node.js is missing" >&2; exit 1; }
[ -d "$tools/node_modules/playwright-core" ] ||
    npm install --silent --no-fund --no-audit --prefix "$tools" playwright-core@1 >/dev/null
chromium=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
    [ -n "$chromium" ] || chromium=$(command -v "$name" || true)
done
if [ -z "$chromium" ]; then
    npm install --silent --no-fund --no-audit --prefix "$tools" @sparticuz/chromium >/dev/null
    chromium=$(cd "$tools" && node --input-type=module --eval \
        'import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath());')
fi

cargo build --quiet --package flow-cli
flow=$target/debug/flow

step "traces"
rm -rf "$work/small" "$work/hostile"
mkdir "$work/small" "$work/hostile"
printf '%s\n' 'a.B#main([Ljava/lang/String;)V=0' 'a.B#work(ILList;)I=1' 'a.B$C#<init>()V=2' \
    >"$work/small/ids.properties"
# main > (work > (init, init), work); work, still open; two exits of unseen frames, then init.
printf '\200\201\202\000\202\001\201\001' >"$work/small/thread-1.flow"
printf '\201' >"$work/small/thread-12.flow"
printf '\001\202\000' >"$work/small/thread-13.flow"
cp scripts/html/hostile/* "$work/hostile/"
printf '\200\201\202\203\001\202\000\204\200\005\202\000' >"$work/hostile/thread-1.flow"
if [ ! -d "$work/large" ]; then
    cargo build --quiet --release --package flow-codec --example generate
    "$target/release/examples/generate" --calls 20M --threads 3 "$work/large"
fi

for trace in small large hostile ${1:+given}; do
    step "$trace"
    dir=$work/$trace
    [ "$trace" != given ] || dir=$1
    "$flow" report --html "$work/$trace.html" "$dir"
    "$flow" report --format json "$dir" >"$work/$trace.report"
    "$flow" info --format json "$dir" >"$work/$trace.info"
    NODE_PATH=$tools/node_modules node scripts/html/verify.cjs "$chromium" "$work" "$trace"
done
