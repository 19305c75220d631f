#!/usr/bin/env bash
# Compares what two builds of flow print: every verb, in every format and with its main flags, for each trace
# in a directory.
#
#   scripts/compare-output.sh OLD NEW DIR [PATTERN]
#
#   OLD, NEW   two `flow` programs
#   DIR        a directory of trace directories, which stay as they are
#   PATTERN    only commands that match this regular expression, as `TRACE: VERB FLAGS`
#
# What a build prints is kept as checksums in DIR/.outputs, so an old build runs once. Of each difference the
# first lines are shown. Exit status: 0 the same, 1 they differ, 2 something is missing.
set -euo pipefail

refuse() {
    printf 'compare-output.sh: %s\n' "$@" >&2
    exit 2
}
(($# == 3 || $# == 4)) || refuse "usage: compare-output.sh OLD NEW DIR [PATTERN]"
[[ -x $1 && -x $2 ]] || refuse "no such program: $1 or $2"
[[ -d $3 ]] || refuse "no such directory: $3"
old=$(realpath -- "$1") new=$(realpath -- "$2") pattern=${4:-.}
cd -- "$3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- what is run --------------------------------------------------------------------------------------

# The flags of each verb, a command a line.
commands() {
    local trace=$1 verb flags format
    while read -r verb flags; do
        [[ -n $verb ]] || continue
        for format in text json csv; do
            echo "$trace: $verb $flags --format $format"
        done
    done <<'END'
info
info --verbose --sort calls
info --max 1
report
report --by calls
report --by time --sort self --max 5
report --time W
report --min-duration 200us
report --time W --min-duration 100us --exclude M
report --time 3ms.. --by calls
report --include M
report --test *
report --test *t1* --by time
report --slowest 12
report --slowest 5 --time W --exclude M
report --slowest 400 --test *
report --callers M
report --callees M --by calls
report --callees M --time W
report --callers M --min-duration 50us
report --paths longest
report --paths deepest
report --paths frequent
report --paths frequent --by time --time W
report --thread T
graph
graph --by calls --depth 4
graph --time W --min 1
graph --min-duration 100us --sort self
graph --method M
graph --per-thread --exclude M
graph --test *
tests
tests --verbose --sort name
tests --exclude M
replay --max 3000
replay --verbose --max 200
replay --time --max 5000
replay --time --test * --max 3000
replay --test * --max 500
replay --min-duration 300us --max 2000
replay --min-duration 300us --depth 4
replay --time --exclude M --max 2000
replay --method M --max 100
replay --method M --time --max 100
replay --method M --depth 2 --time --min-duration 50us --max 100
replay --depth 3 --max 2000
replay --thread 1 --from 900 --time --max 100
replay --thread 1 --from event:500 --max 100
replay --thread 1 --from M --max 50
replay --from 4ms --max 100
replay --from 4ms --time --max 100
replay --thread 1 --test *t1* --from 50 --time --max 50
dump --max 2000
dump --marks --max 3000
check
diff clean
diff clean --by time
END
    echo "$trace: replay --collapse --max 300"
    echo "$trace: replay --collapse --time --max 300"
    echo "$trace: replay --collapse --depth 3 --time --test * --max 300"
    echo "$trace: report --html P"
    echo "$trace: report --html P --time W"
    echo "$trace: report --html P --min-duration 100us --exclude M"
    echo "$trace: report --html P --by calls"
    echo "$trace: report --html P --test *"
    for format in perfetto chrome speedscope firefox pprof collapsed svg jsonl csv; do
        while read -r flags; do
            echo "$trace: export --force --to $format $flags"
        done <<'END'

--by calls
--time W
--min-duration 100us
--time W --min-duration 50us --exclude M --depth 5
--include M --depth 2
--test *
--estimate
END
    done
}

# Runs `TRACE: VERB FLAGS` with a build; prints what that prints, its messages, and its exit status. In the
# flags, W is a time, M a method, T a thread, and P a file for a page.
run_one() {
    local flow=$1 trace=${2%%: *} status=0 verb words page
    read -r verb words <<<"${2#*: }"
    page=$(mktemp)
    read -r -a words <<<"$words"
    words=("${words[@]/#W/2ms..9ms}")
    words=("${words[@]/#M/Work*#fib}")
    words=("${words[@]/#T/worker*}")
    words=("${words[@]/#P/$page}")
    if [[ $verb == diff ]]; then words=("$trace" "${words[@]}"); else words+=("$trace"); fi
    { "$flow" "$verb" "${words[@]}" 2>&1 </dev/null | sed "s|$page|PAGE|g"; } || status=$?
    # Pages have a random number.
    sed -E 's/nonce(-|=")[0-9a-f]+/nonce/g' "$page"
    rm "$page"
    echo "exit status $status"
}

checksum_one() {
    printf '%s %s\n' "$(run_one "$1" "$2" | sha256sum | cut -c1-16)" "$2"
}

export -f run_one checksum_one
export SHELLOPTS LC_ALL=C TMPDIR=$work

traces=()
for trace in *; do
    if [[ -d $trace ]]; then traces+=("$trace"); fi
done
((${#traces[@]})) || refuse "no traces in $PWD"
for trace in "${traces[@]}"; do commands "$trace"; done | grep -E -- "$pattern" >"$work/commands" ||
    refuse "no command matches $pattern"

# --- checksums, and the differences -------------------------------------------------------------------

outputs() {
    xargs -d '\n' -P "$(nproc)" -I{} bash -c 'checksum_one "$0" "$1"' "$1" {} | sort -k2
}

mkdir -p .outputs
known=.outputs/$(sha256sum "$old" | cut -c1-16)
touch "$known"
# Commands that the old build has not run.
cut -d' ' -f2- "$known" | sort >"$work/known"
sort "$work/commands" | comm -23 - "$work/known" >"$work/unknown"
if [[ -s $work/unknown ]]; then
    outputs "$old" <"$work/unknown" >>"$known"
fi
sort -k2 "$known" | awk 'NR == FNR { wanted[$0]; next } substr($0, 18) in wanted' "$work/commands" - >"$work/before"
outputs "$new" <"$work/commands" >"$work/after"

differences=0
while read -r command; do
    differences=$((differences + 1))
    ((differences <= 40)) || continue
    printf '== %s\n' "$command"
    run_one "$old" "$command" >"$work/old" || true
    run_one "$new" "$command" >"$work/new" || true
    { diff --text "$work/old" "$work/new" || true; } | cut -c1-300 | head -n 8 || true
done < <(diff "$work/before" "$work/after" | sed -n 's/^> [0-9a-f]* //p')
printf '%s commands, %s differ\n' "$(wc -l <"$work/commands")" "$differences"
((differences == 0))
