#!/usr/bin/env bash
# Measures how fast traces are read, and prints it as Markdown: whole commands, on generated traces.
#
#   scripts/bench-read.sh [--rounds N] [--big] [--shape NAME] [--only NAME,…] [--cores LIST|all]
#                         [--flow FILE] [--keep FILE] [DIR]…
#
#   --rounds N     rounds; a round runs each command once (5)
#   --big          a trace of 1 G calls beside the one of 100 M
#   --shape NAME   what the generated program is like: real fib deep wide (real)
#   --only NAMES   commands, as the table names them: cat info check report … (all that this flow has)
#   --cores LIST   where they run, as for taskset -c; `all` does not pin them (the last core)
#   --flow FILE    another flow than that of this source, which is built first
#   --keep FILE    where the figures of the single runs go, a line a run
#   DIR            a recorded trace, to be measured too; its index is made again, or taken away if it had none
#
# The files are in the page cache before the first round. What took more than half a minute in the first
# round is not run again. The generated traces stay under target/ for the next time, up to 3 GB.
# Exit status: 0 all ran, 1 some run failed (it is named below the table), 2 something is missing or
# misspelt.
set -euo pipefail

refuse() {
    printf 'bench-read.sh: %s\n' "$@" >&2
    exit 2
}
say() { printf 'bench-read.sh: %s\n' "$*" >&2; }

rounds=5 big='' shape=real only='' cores='' flow='' keep='' recorded=()
while (($# > 0)); do
    case $1 in
        --big) big=yes && shift && continue ;;
        -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;;
        -*) ;;
        *) recorded+=("$(realpath -- "$1")") && shift && continue ;;
    esac
    (($# >= 2)) || refuse "unknown option, or its value is missing: $1" "see scripts/bench-read.sh --help"
    case $1 in
        --rounds) rounds=$2 ;;
        --shape) shape=$2 ;;
        --only) only=${2//,/ } ;;
        --cores) cores=$2 ;;
        --flow) flow=$(realpath -- "$2") ;;
        --keep) keep=$(realpath -- "$2") ;;
        *) refuse "unknown option: $1" "see scripts/bench-read.sh --help" ;;
    esac
    shift 2
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || refuse "not a number of rounds: $rounds"
cd "$(dirname "$0")/.."

# --- what is measured ---------------------------------------------------------------------------------

readonly all_commands=(cat info check report graph diff index from from-index first depth dump)

# Whether this flow can do it.
possible() {
    case $1 in
        cat) ;;
        from) "$flow" replay --help | grep -q -- '--from ' ;;
        from-index) possible from && possible index ;;
        first | depth) possible replay ;;
        *) "$flow" "$1" --help >/dev/null 2>&1 ;;
    esac
}

# A command on the trace $dir with $calls calls.
command_of() {
    local late=$((calls / 10 * 9))
    case $1 in
        # The floor: as fast as the files can be read at all.
        cat) command=(sh -c 'cat "$0"/thread-*' "$dir") ;;
        diff) command=("$flow" diff "$dir" "$dir") ;;
        from | from-index) command=("$flow" replay --from "$late" --max 50 "$dir") ;;
        first) command=("$flow" replay --max 50 "$dir") ;;
        depth) command=("$flow" replay --depth 12 --collapse "$dir") ;;
        dump) command=(sh -c '"$0" dump "$1" | tail -n 1' "$flow" "$dir") ;;
        *) command=("$flow" "$1" "$dir") ;;
    esac
}

# What the table says it is.
title_of() {
    case $1 in
        cat) echo 'cat' ;;
        from) echo 'replay from 90 % on, first screen, no index' ;;
        from-index) echo 'replay from 90 % on, first screen, with index' ;;
        first) echo 'replay, first screen' ;;
        depth) echo 'replay --depth 12 --collapse' ;;
        dump) echo 'dump, to a pipe' ;;
        *) echo "$1" ;;
    esac
}

# Indexes there are for `from-index` only: every other command does without.
prepare() {
    if [[ $1 == from-index ]]; then
        "$flow" index "$dir" >/dev/null 2>&1 || true
    else
        rm -f "$dir"/*.idx
    fi
}

run_once() {
    local name=$1 status=0 measured
    prepare "$name"
    command_of "$name"
    "${pin[@]}" "$work/measure" "$work/measured" "${command[@]}" >/dev/null 2>"$work/stderr" || status=$?
    # 3: the trace is whole, but what it tells is not.
    if ((status != 0 && status != 3)); then
        failed+=("$label, $name: exit status $status: $(tail -n 1 "$work/stderr")")
        say "${failed[-1]}"
        skip[$label-$name]=yes
        return
    fi
    read -r -a measured <"$work/measured"
    printf '%s\t' "$label" "$(title_of "$name")" "$calls" "${measured[@]}" >>"$results"
    echo >>"$results"
    ((measured[0] <= 30000000000)) || skip[$label-$name]=yes
    took+=", $name $(awk "BEGIN { printf \"%.2f\", ${measured[0]} / 1e9 }") s"
}

# --- preparation --------------------------------------------------------------------------------------

target=$(cargo metadata --format-version 1 --no-deps --offline |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
work=$target/bench-read results=${keep:-$work/results.tsv}
mkdir -p "$work"

build="flow built elsewhere"
if [[ -z $flow ]]; then
    say "building (the first time a minute or two) ..."
    cargo build --release --quiet -p flow-cli
    flow=$target/release/flow
    build="flow $(git rev-parse --short HEAD 2>/dev/null || echo 'without history')"
    git diff --quiet HEAD 2>/dev/null || build+=" with changes"
fi
[[ -x $flow ]] || refuse "no such program: $flow"
cc -O2 -Wall -o "$work/measure" scripts/bench/measure.c
cargo build --release --quiet -p flow-codec --example generate

names=()
for name in ${only:-${all_commands[*]}}; do
    [[ " ${all_commands[*]} " == *" $name "* ]] ||
        refuse "no command $name; there are: ${all_commands[*]}"
    if possible "$name"; then names+=("$name"); elif [[ -n $only ]]; then refuse "this flow has no $name"; fi
done

# A generated trace; the manifest is written last, so one without is not whole.
generate() {
    local dir=$work/$1-$shape
    if [[ ! -f $dir/trace.json || $target/release/examples/generate -nt $dir/trace.json ]]; then
        say "generating $1 calls ..."
        rm -rf "$dir"
        "$target/release/examples/generate" --calls "$1" --shape "$shape" "$dir"
    fi
    traces+=("$1 calls, $shape:$dir")
}
traces=()
generate 100M
[[ -z $big ]] || generate 1G
for dir in "${recorded[@]}"; do traces+=("recorded:$dir"); done

pin=()
if [[ $cores != all ]] && command -v taskset >/dev/null; then
    # The last one that we may use: the first ones get the interrupts.
    : "${cores:=$(taskset -cp $$ | sed 's/.*[-,: ]//')}"
    pin=(taskset -c "$cores")
fi

# --- the rounds, and the table ------------------------------------------------------------------------

declare -A skip=()
failed=()
: >"$results"
load=$(cut -d' ' -f1 /proc/loadavg)
for trace in "${traces[@]}"; do
    label=${trace%%:*} dir=${trace#*:}
    calls=$(sed -n 's/.*"enters": *\([0-9]*\).*/\1/p' "$dir/trace.json")
    [[ -n $calls ]] || refuse "$dir: no end in trace.json; see flow check --repair"
    had_index=$(compgen -G "$dir/*.idx" || true)
    cat "$dir"/thread-* >/dev/null
    for ((round = 0; round < rounds; round++)); do
        took=''
        # The first one moves on by one from round to round.
        for ((i = 0; i < ${#names[@]}; i++)); do
            name=${names[(i + round) % ${#names[@]}]}
            [[ -n ${skip[$label-$name]:-} ]] || run_once "$name"
        done
        say "$label, round $((round + 1))$took"
    done
    prepare none
    [[ -z $had_index ]] || prepare from-index
done

awk -f scripts/bench/median.awk -f scripts/bench/read.awk "$results"
printf '\nMeasured %s on %s, %s cores, Linux %s; ' "$(date -u +%F)" \
    "$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)" "$(nproc --all)" "$(uname -r)"
if ((${#pin[@]})); then printf 'commands pinned to core %s. ' "$cores"; else printf 'commands not pinned. '; fi
printf 'Files in the page cache, on %s; load before %s; %s.\n' "$(stat -f -c %T "$work")" "$load" "$build"
if ((${#failed[@]})); then
    printf '\nFailed:\n'
    printf -- '- %s\n' "${failed[@]}"
    exit 1
fi
