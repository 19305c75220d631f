#!/usr/bin/env bash
# Measures what recording costs, and prints it as Markdown. How, and what came out: docs/performance.md
#
#   scripts/bench.sh [--rounds N] [--only NAME,…] [--variants NAME,…] [--events] [--jdk HOME]…
#                    [--cores LIST|all] [--agent FILE] [--keep FILE]
#
#   --rounds N       rounds; a round runs every variant of every workload once (5)
#   --only NAMES     workloads: fib fib-small clojure javac lang3 startup memory (all)
#   --variants NAMES compared with the program alone (`none`): again untimed instrument exact events jfr (all);
#                    `again` is the program alone once more, and shows what the noise is
#   --events         the slow variants, exact, events and jfr, of clojure and javac in every round, not only
#                    in the first
#   --jdk HOME       a JDK to run on (JAVA_HOME, the java on the PATH, those under /usr/lib/jvm)
#   --cores LIST     where the programs run, as for taskset -c; `all` does not pin them (the last core)
#   --agent FILE     another libflowagent.so than that of this source, which is built first
#   --keep FILE      where the figures of the single runs go, a line a run
#
# Exit status: 0 all ran, 1 some run failed (it is named below the table), 2 something is missing or
# misspelt. A run can leave up to 3 GB under target/ until the next one.
set -euo pipefail

refuse() {
    printf 'bench.sh: %s\n' "$@" >&2
    exit 2
}

rounds=5 only='' wanted='' slow_always='' cores='' agent='' keep='' jdks=()
while (($# > 0)); do
    case $1 in
        --events) slow_always=yes && shift && continue ;;
        -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;;
    esac
    (($# >= 2)) || refuse "unknown option, or its value is missing: $1" "see scripts/bench.sh --help"
    case $1 in
        --rounds) rounds=$2 ;;
        --only) only=${2//,/ } ;;
        --variants) wanted=${2//,/ } ;;
        --jdk) jdks+=("$(realpath -- "$2")") ;;
        --cores) cores=$2 ;;
        --agent) agent=$(realpath -- "$2") ;;
        --keep) keep=$(realpath -- "$2") ;;
        *) refuse "unknown option: $1" "see scripts/bench.sh --help" ;;
    esac
    shift 2
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || refuse "not a number of rounds: $rounds"
cd "$(dirname "$0")/.."
# What would reach every JVM, the one without recording too.
unset "${!FLOW_@}" JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS

# --- what is compared ---------------------------------------------------------------------------------

all_workloads=(fib fib-small clojure javac lang3 startup memory)

# A workload: its variants, which of them are slow, how many runs of each a round has, the package
# recorded and where its classes are, and the program. `fib-small` is there because the slow variants
# would take minutes for fib(40). Heap and stacks of `memory` are fixed, so that what differs is ours.
readonly threads=200 startup_runs=10
workload() {
    variants="again untimed instrument exact events jfr" slow="" runs=1
    package=bench root=$work/classes
    local lib=java-harness/target/lib
    case $1 in
        fib)
            variants="again untimed instrument"
            program=(-cp "$root" bench.Fib 40 3)
            ;;
        fib-small) program=(-cp "$root" bench.Fib 32 3) ;;
        clojure)
            slow="exact events jfr"
            package=clojure.lang root=$lib/clojure.jar
            program=(-cp "$root:$lib/spec.alpha.jar:$lib/core.specs.alpha.jar"
                clojure.main scripts/bench/clojure.clj)
            ;;
        javac)
            slow="exact events jfr"
            package=com.sun.tools.javac root=jrt:/jdk.compiler
            program=(-m jdk.compiler/com.sun.tools.javac.Main -proc:none -d "$run/classes" "$work"/sources/*.java)
            ;;
        lang3)
            # Tests of a library; no empty entry in the class path, which would be this directory.
            variants="again instrument"
            package=org.apache.commons.lang3 root=$work/lang3/commons-lang3-3.14.0.jar
            program=(--add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED
                -jar "$work/lang3/junit-platform-console-standalone-1.10.2.jar" execute --disable-banner
                --details none --class-path "$(printf '%s\n' "$work"/lang3/*.jar | grep -v console | paste -sd:)"
                --select-package "$package.tuple" --select-package "$package.mutable"
                --select-package "$package.math" --select-package "$package.builder")
            ;;
        startup)
            # So short that one run says little.
            runs=$startup_runs
            program=(-cp "$root" bench.Hello)
            ;;
        memory)
            program=(-Xms192m -Xmx192m -Xss512k -cp "$root" bench.Threads "$threads" 96)
            ;;
        *) refuse "no workload $1; there are: ${all_workloads[*]}" ;;
    esac
}

# A variant of the workload at hand: the options of the JVM.
options_of() {
    local recording="include=$package.**,out=$run/trace"
    case $1 in
        none | again) options=() ;;
        untimed) options=("-agentpath:$agent=clock=off,$recording") ;;
        exact) options=("-agentpath:$agent=clock=exact,$recording") ;;
        instrument | events) options=("-agentpath:$agent=engine=$1,$recording") ;;
        jfr) options=("-XX:StartFlightRecording:settings=$work/$package.jfc,filename=$run/trace.jfr,maxsize=16g") ;;
        *) refuse "no variant $1; there are: again untimed instrument exact events jfr" ;;
    esac
}

# Whether the workload at hand can run that way on JDK $2. Flight Recorder traces methods since 25.
possible() {
    [[ $1 != jfr || $2 -ge 25 ]] || return 1
    [[ $1 == none || -z $wanted || " $wanted " == *" $1 "* ]]
}

# What a workload says of itself, beside time and memory of the process: its name, and for a run its
# value, from the figures of that run.
figure_name() {
    case $1 in
        fib | fib-small) echo "ns a call, CPU time of the calling thread only" ;;
        startup) echo "ms, wall, from start to end of the JVM" ;;
        memory) echo "KiB a thread, resident, $threads threads" ;;
    esac
}
figure() {
    local wall_ns=$2 rss_kib=$3
    case $1 in
        fib | fib-small) tail -n 1 "$run/stdout" ;;
        startup) awk "BEGIN { print $wall_ns / 1e6 }" ;;
        memory) awk "BEGIN { print $rss_kib / $threads }" ;;
        *) echo - ;;
    esac
}

# --- one run ------------------------------------------------------------------------------------------

# The calls recorded and the bytes they took on disk, or why the recording cannot be trusted.
recorded() {
    local calls lost
    case $1 in
        none | again) echo 0 0 ;;
        jfr)
            "$2/bin/jfr" summary "$run/trace.jfr" >"$run/summary"
            lost=$(awk '$1 == "jdk.DataLoss" { print $2 }' "$run/summary")
            [[ ${lost:-0} == 0 ]] || { echo "JFR lost data $lost times" && return 1; }
            calls=$(awk '$1 == "jdk.MethodTrace" { print $2, $3 }' "$run/summary")
            [[ -n $calls && $calls != 0\ * ]] || { echo "nothing was recorded" && return 1; }
            echo "$calls"
            ;;
        *)
            calls=$(sed -n 's/.*"enters": \([0-9]*\).*/\1/p' "$run/trace/trace.json")
            lost=$(sed -n '/"lost": {/,/}/s/.*"events": \([0-9]*\).*/\1/p' "$run/trace/trace.json")
            [[ -n $calls ]] || { echo "the recording did not end" && return 1; }
            [[ ${lost:-0} == 0 ]] || { echo "$lost events lost" && return 1; }
            [[ $calls != 0 ]] || { echo "nothing was recorded" && return 1; }
            echo "$calls" "$(du -sb "$run/trace" | cut -f1)"
            ;;
    esac
}

# Runs a variant of the workload at hand once; the line of figures goes to $results.
run_once() {
    local name=$1 variant=$2 home=$3 version=$4 turn=$5 measured calls status=0
    rm -rf "$run" && mkdir -p "$run/classes"
    options_of "$variant"
    "${pin[@]}" "$work/measure" "$run/measured" "$home/bin/java" "${options[@]}" "${program[@]}" \
        >"$run/stdout" 2>"$run/stderr" || status=$?
    if ((status != 0)); then
        fail "$name, JDK $version, $variant: exit status $status: $(tail -n 1 "$run/stderr")"
        return
    fi
    calls=$(recorded "$variant" "$home") || { fail "$name, JDK $version, $variant: $calls" && return; }
    read -r -a measured <"$run/measured"
    printf '%s\t' "$name" "$version" "$variant" "$turn" "${measured[@]}" "${calls% *}" "${calls#* }" \
        >>"$results"
    figure "$name" "${measured[0]}" "${measured[2]}" >>"$results"
    took+=", $variant $(awk "BEGIN { printf \"%.2f\", ${measured[0]} / 1e9 }") s"
}

# A variant that failed is not tried again, nor any other where the program alone fails.
fail() {
    failed+=("$1")
    broken[$name-$version-$variant]=yes
    printf 'bench.sh: %s\n' "$1" >&2
}

# All variants of a workload once, the first one moving on by one from turn to turn: whoever runs
# after another finds the caches and the disk as that one left them.
turn() {
    local name=$1 home=$2 version=$3 round=$4 turn=$5 variant took='' order=()
    for variant in none $variants; do
        possible "$variant" "$version" || continue
        [[ -z ${broken[$name-$version-$variant]:-} ]] || continue
        [[ -n $slow_always || $round -eq 1 || " $slow " != *" $variant "* ]] || continue
        order+=("$variant")
    done
    for ((i = 0; i < ${#order[@]}; i++)); do
        variant=${order[(i + turn) % ${#order[@]}]}
        [[ -n ${broken[$name-$version-none]:-} ]] ||
            run_once "$name" "$variant" "$home" "$version" "$round.$turn"
    done
    [[ -z $took ]] || printf 'bench.sh: round %s, JDK %s, %s%s\n' "$round" "$version" "$name" "$took" >&2
}

# --- preparation --------------------------------------------------------------------------------------

version_of() {
    sed -n 's/^JAVA_VERSION="\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' "$1/release" 2>/dev/null
}

# One JDK of each version.
find_jdks() {
    local home version seen=" "
    for home in "${JAVA_HOME:-}" "$(dirname "$(dirname "$(realpath "$(command -v java || echo /)")")")" \
        /usr/lib/jvm/*; do
        version=$(version_of "$home") || continue
        if [[ -n $version && -x $home/bin/java && $seen != *" $version "* ]]; then
            seen+="$version "
            jdks+=("$home")
        fi
    done
}

scripts/setup.sh
((${#jdks[@]})) || find_jdks
((${#jdks[@]})) || refuse "no JDK found; run scripts/setup.sh, or name one with --jdk"
for home in "${jdks[@]}"; do
    [[ -n $(version_of "$home") && -x $home/bin/java ]] || refuse "not a JDK: $home"
done

target=$(cargo metadata --format-version 1 --no-deps --offline |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
work=$target/bench run=$target/bench/run results=${keep:-$target/bench/results.tsv}
mkdir -p "$work"
trap 'rm -rf "$run"' EXIT
for name in ${only:=${all_workloads[*]}}; do workload "$name"; done
for variant in $wanted; do options_of "$variant"; done

build="flow built elsewhere"
if [[ -z $agent ]]; then
    printf 'bench.sh: building the agent (the first time a minute or two) ...\n' >&2
    cargo build --release --quiet -p flow-agent
    agent=$target/release/libflowagent.so
    build="flow $(git rev-parse --short HEAD 2>/dev/null || echo 'without history')"
    git diff --quiet HEAD 2>/dev/null || build+=" with changes"
fi
[[ -f $agent ]] || refuse "no such file: $agent"
cc -O2 -Wall -o "$work/measure" scripts/bench/measure.c
javac --release 11 -Xlint:-options -d "$work/classes" scripts/bench/java/bench/*.java
if [[ " $only " == *" javac "* ]]; then
    rm -rf "$work/sources"
    java -cp "$work/classes" bench.Sources "$work/sources" 40 28
fi
if [[ " $only " == *" clojure "* && ! -f java-harness/target/lib/clojure.jar ]]; then
    (cd java-harness && mvn -q -B -DskipTests package)
fi

if [[ " $only " == *" lang3 "* && ! -d $work/lang3 ]]; then
    mvn -q -B -f scripts/bench/lang3/pom.xml dependency:copy-dependencies -DoutputDirectory="$work/lang3"
fi

pin=()
if [[ $cores != all ]] && command -v taskset >/dev/null; then
    # The last one that we may use: the first ones get the interrupts.
    : "${cores:=$(taskset -cp $$ | sed 's/.*[-,: ]//')}"
    pin=(taskset -c "$cores")
fi

# --- the rounds, and the table ------------------------------------------------------------------------

declare -A broken=()
failed=()
: >"$results"
load=$(cut -d' ' -f1 /proc/loadavg)
for ((round = 1; round <= rounds; round++)); do
    for home in "${jdks[@]}"; do
        version=$(version_of "$home")
        for name in $only; do
            workload "$name"
            if possible jfr "$version" && [[ " $variants " == *" jfr "* ]]; then
                "$home/bin/java" -cp "$work/classes" bench.JfrSettings "$root" "$package" >"$work/$package.jfc"
            fi
            for ((i_run = 0; i_run < runs; i_run++)); do
                turn "$name" "$home" "$version" "$round" $((round + i_run - 1))
            done
        done
    done
done

for name in $only; do
    printf '%s\t%s\n' "$name" "$(figure_name "$name")"
done | awk -f scripts/bench/median.awk -f scripts/bench/table.awk - "$results"

printf '\nMeasured %s on %s, %s cores, Linux %s; ' "$(date -u +%F)" \
    "$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)" "$(nproc --all)" "$(uname -r)"
if ((${#pin[@]})); then printf 'programs pinned to core %s. ' "$cores"; else printf 'programs not pinned. '; fi
printf 'Rounds: %s, with %s runs of startup in each; load before them %s. Traces on %s; %s.\n' \
    "$rounds" "$startup_runs" "$load" "$(stat -f -c %T "$work")" "$build"
for home in "${jdks[@]}"; do
    printf -- '- JDK %s: %s\n' "$(version_of "$home")" \
        "$("$home/bin/java" -XshowSettings:properties -version 2>&1 | sed -n 's/.*java.vm.version = //p')"
done
if ((${#failed[@]})); then
    printf '\nFailed:\n'
    printf -- '- %s\n' "${failed[@]}"
    exit 1
fi
