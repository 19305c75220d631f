#!/usr/bin/env bash
# Fuzzes every reader, the fold and the rewriter:
#
#   scripts/fuzz.sh [--jobs N] [SECONDS [TARGET]…]     each target for so long (60), N at a time (2)
#   scripts/fuzz.sh --keep [TARGET]…                   puts the best of what was learned into the corpus
#
# What holds of any bytes stands in codec/tests/it/checks. The corpus in codec/fuzz/corpus is kept in the
# repository, and `cargo test` runs it too; what the fuzzer learns goes to codec/fuzz/learned, what it breaks
# to codec/fuzz/artifacts, and neither is committed. For the rewriter all of that is in agent/fuzz, and
# its first files are classes of java-harness.
# Exit status: 0 nothing found, 1 a target failed, 2 something is missing or misspelt.
set -euo pipefail
cd "$(dirname "$0")/.."

refuse() {
    printf 'fuzz.sh: %s\n' "$@" >&2
    exit 2
}

readonly usage="usage: scripts/fuzz.sh [--jobs N] [SECONDS [TARGET]…], or scripts/fuzz.sh --keep [TARGET]…"
jobs=2 keep='' seconds=60
while (($# > 0)); do
    case $1 in
        --jobs) (($# >= 2)) || refuse "$usage" && jobs=$2 && shift 2 ;;
        --keep) keep=yes && shift ;;
        -*) refuse "$usage" ;;
        *) break ;;
    esac
done
if [[ -z $keep && $# -gt 0 ]]; then
    seconds=$1
    shift
fi
[[ $seconds =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]] || refuse "not a number" "$usage"

codec_targets=()
for file in codec/fuzz/fuzz_targets/*.rs; do codec_targets+=("$(basename "$file" .rs)"); done
targets=("$@")
((${#targets[@]})) || targets=("${codec_targets[@]}" rewrite)
for target in "${targets[@]}"; do
    [[ " ${codec_targets[*]} rewrite " == *" $target "* ]] ||
        refuse "no target $target; there are: ${codec_targets[*]} rewrite"
done

cargo +nightly --version >/dev/null 2>&1 ||
    refuse "the nightly compiler is missing; install it: rustup toolchain install nightly --profile minimal"
cargo fuzz --version >/dev/null 2>&1 ||
    refuse "cargo-fuzz is missing; install it: cargo install cargo-fuzz --locked"
command -v c++ >/dev/null ||
    refuse "a C++ compiler is missing, which libFuzzer is built with; install it: apt-get install g++"

# A target of the codec, which has no unsafe code: without a sanitizer it runs twice as often.
readonly sanitizer=(--sanitizer none)
in_codec() {
    local verb=$1
    shift
    cargo +nightly fuzz "$verb" --fuzz-dir codec/fuzz "${sanitizer[@]}" "$@"
}

# The best of what was learned: few files that together reach all code that was reached, and for small
# decoders also as often as they did. Of more than a repository should have (tests/it/corpus.rs) the largest,
# which reach most.
keep_learned() {
    local target=$1 best counters
    best=$(mktemp -d)
    for counters in 0 1; do
        in_codec run "$target" "$best" "codec/fuzz/corpus/$target" "codec/fuzz/learned/$target" -- \
            -merge=1 -set_cover_merge=1 -use_counters="$counters" -max_len=4096 -rss_limit_mb=1024
        (($(find "$best" -type f | wc -l) < 30)) || break
    done
    rm -f "codec/fuzz/corpus/$target"/*
    find "$best" -type f -printf '%s %p\n' | sort -nr |
        awk 'NR < 100 && (bytes += $1) < 180000 { print $2 }' |
        xargs -r mv -t "codec/fuzz/corpus/$target"
    rm -rf "$best"
    printf 'fuzz.sh: %s: %s files\n' "$target" "$(find "codec/fuzz/corpus/$target" -type f | wc -l)" >&2
}

# Small classes with constructors, handlers and all kinds of methods.
seed_classes() {
    local classes=agent/fuzz/corpus/rewrite
    command -v javac >/dev/null ||
        refuse "javac is missing, which makes seeds; install it: apt-get install openjdk-17-jdk-headless"
    mkdir -p "$classes"
    javac -nowarn -d "$classes" java-harness/src/main/java/harness/{Constructors,Exceptions,Shapes}.java
    find "$classes/harness" -name '*.class' -size -9 -exec mv -t "$classes" {} +
    rm -rf "$classes/harness"
}

# Runs a target; its output goes to a file, since others run beside it.
run() {
    local target=$1 options=(-max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024
        -print_final_stats=1)
    if [[ $target == rewrite ]]; then
        cargo +nightly fuzz run --fuzz-dir agent/fuzz "$target" -- "${options[@]}"
    else
        in_codec run "$target" "codec/fuzz/learned/$target" "codec/fuzz/corpus/$target" -- "${options[@]}"
    fi >"$logs/$target" 2>&1
}

for target in "${targets[@]}"; do
    [[ $target == rewrite ]] || mkdir -p codec/fuzz/{learned,corpus}/"$target"
done
if [[ -n $keep ]]; then
    for target in "${targets[@]}"; do [[ $target == rewrite ]] || keep_learned "$target"; done
    exit
fi

# Once before the clock runs: side by side, they would wait for each other's builds.
if [[ " ${targets[*]} " == *" rewrite "* ]]; then
    seed_classes
    cargo +nightly fuzz build --fuzz-dir agent/fuzz rewrite
fi
if [[ ${targets[*]} != rewrite ]]; then in_codec build; fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
printf 'fuzz.sh: %s targets, %s s each, %s at a time\n' "${#targets[@]}" "$seconds" "$jobs" >&2
status=0 running=0
declare -A of=()
# Waits for one target, and says what came of it.
finish_one() {
    local pid code=0 target
    wait -n -p pid || code=$?
    target=${of[$pid]}
    running=$((running - 1))
    if ((code == 0)); then
        printf 'fuzz.sh: %s: nothing found in %s runs\n' "$target" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$target")" >&2
    else
        printf 'fuzz.sh: %s failed:\n' "$target" >&2
        tail -n 60 "$logs/$target" >&2
        status=1
    fi
}
for target in "${targets[@]}"; do
    ((running < jobs)) || finish_one
    run "$target" &
    of[$!]=$target
    running=$((running + 1))
done
while ((running > 0)); do finish_one; done
exit "$status"
