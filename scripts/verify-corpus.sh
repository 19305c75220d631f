#!/usr/bin/env bash
# Rewrites real classes and lets JVMs verify them: scripts/verify-corpus.sh [--fast] [directory]
#
# The corpus: every class of the JDKs found, and of the jars that tests/corpus/pom.xml names. The new
# classes of a JDK replace its own, so the JVM also runs on them; probes do nothing there. Everything
# is verified by the JVMs, with checks on that they leave out for classes they trust, and once more by
# the verifier in the library of JDK 25. What the originals fail with does not count.
#
# Then it runs real code with and without the agent, each method compiled at its first call: by C1, then
# by C2. A method that a compiler refuses only with the agent is a failure.
#
# --fast takes java.base of one JDK, two jars of java-harness, and one method with a `synchronized` block
# as Kotlin compiles it, and needs no network.
#
# Prints a line for each part of the corpus. Exit status: 0 nothing new fails, 1 something does, 2
# something is missing. Everything is left in the directory, target/corpus if there is none given.
set -euo pipefail
cd "$(dirname "$0")/.."

fast=
if [[ ${1-} == --fast ]]; then
    fast=yes
    shift
fi
# The home of the first JDK of a version: the one on the PATH, or one where Linux keeps them.
home_of() {
    local home
    for home in "$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")" /usr/lib/jvm/*; do
        if grep -qs "^JAVA_VERSION=\"$1[.\"]" "$home/release"; then
            echo "$home"
            return
        fi
    done
}

java17=${JAVA17_HOME:-$(home_of 17)}
# A few classes of any JDK will do for a quick look.
if [[ $fast && ! $java17 ]]; then
    java17=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
fi
java25=${JAVA25_HOME:-$(home_of 25)}
readonly java17 java25
mkdir -p "${1-target/corpus}"
work=$(cd "${1-target/corpus}" && pwd)
readonly fast work

refuse() {
    printf 'verify-corpus.sh: %s\n' "$@" >&2
    exit 2
}

command -v unzip >/dev/null || refuse "unzip is missing; install it: apt-get install unzip"
[[ -x $java17/bin/javac ]] || refuse "no JDK 17 was found; set JAVA17_HOME"
if [[ ! $fast ]]; then
    [[ -x $java25/bin/javac ]] || refuse "no JDK 25 was found; set JAVA25_HOME"
fi

cargo build --quiet --package flow-agent --example rewrite --lib
rewriter=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/examples/rewrite
agent=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/libflowagent.so
readonly rewriter agent
"$java17/bin/javac" -d "$work/load" tests/corpus/{Load,Locked,Compile}.java
"$java17/bin/javac" -d "$work/probe" --patch-module java.base=tests/corpus \
    tests/corpus/FlowProbe.java
if [[ ! $fast ]]; then
    "$java25/bin/javac" -d "$work/verify" tests/corpus/Verify.java
fi

# What classes of the corpus need from one another.
libraries=()
failed=0
printf '%-24s %8s %8s %8s %8s %8s  %s\n' \
    corpus classes methods leaves skipped 'new fail' 'skipped by reason'

# The value of a word `key=value` in the tally on stdin.
word() {
    tr ' ' '\n' | sed -n "s/^$1=//p"
}

# Prints the line of a part of the corpus: its name, its tally, its number of failures.
row() {
    local name=$1 tally=$2 failures=$3 reasons skipped
    reasons=$(tr ' ' '\n' <<<"$tally" | sed -n 's/^skipped-//p' | paste -sd ' ')
    skipped=$(tr ' ' '\n' <<<"$reasons" | awk -F= '{ sum += $2 } END { print sum + 0 }')
    printf '%-24s %8s %8s %8s %8s %8s  %s\n' "$name" "$(word classes <<<"$tally")" \
        "$(word methods <<<"$tally")" "$(word leaves <<<"$tally")" "$skipped" "$failures" "$reasons"
    if ((failures > 0)); then failed=1; fi
}

# A JVM that verifies everything: a JDK, then arguments.
jvm() {
    local home=$1
    shift
    "$home/bin/java" -XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal \
        -XX:+BytecodeVerificationRemote "$@" 2>>"$work/warnings.txt"
}

# Counts what fails in the second file and not in the first, and keeps it in a third. Messages name
# places in the code, which differ.
new_failures() {
    local kind='s/^\([^ ]* [^ ]*\).*/\1/'
    if ! tail -n 1 "$2" 2>/dev/null | grep -q '^\(linked\|verified\) '; then
        echo "the JVM ended early: $2" >"$3"
    else
        grep -v '^\(linked\|verified\) ' "$2" | sed "$kind" | sort -u |
            comm -13 <(sed "$kind" "$1" | sort -u) - >"$3" || true
    fi
    wc -l <"$3"
}

# A JDK: its name, its home, and the modules wanted, as a regular expression.
jdk() {
    local name=$1 home=$2 modules=$3 old=$work/$1/old new=$work/$1/new patches=() tally failures
    rm -rf "$old" "$new"
    "$home/bin/jimage" extract --dir "$old" --include "regex:/($modules)/.*" "$home/lib/modules"
    tally=$("$rewriter" "$old" "$new")
    cp -r "$work/probe/." "$new/java.base/"
    for module in "$new"/*; do
        patches+=(--patch-module "$(basename "$module")=$module")
    done
    : >"$work/$name/old.txt"
    jvm "$home" "${patches[@]}" --add-modules ALL-SYSTEM -cp "$work/load" Load --modules "$new" \
        >"$work/$name/new.txt" || true
    failures=$(new_failures "$work/$name/old.txt" "$work/$name/new.txt" "$work/$name/failures.txt")
    failures=$((failures + $(library "$name")))
    row "$name" "$tally" "$failures"
}

# Lets the library of JDK 25 verify what was rewritten, and prints the number of new failures.
library() {
    local name=$1 part
    if [[ $fast ]]; then
        echo 0
        return
    fi
    for part in old new; do
        (cd "$work/$name/$part" && jvm "$java25" -cp "$work/verify" Verify . "${libraries[@]}") \
            >"$work/$name/library-$part.txt" || true
    done
    new_failures "$work/$name"/library-{old,new,failures}.txt
}

# A jar, on the JDKs given.
jar() {
    local path=$1 name tally failures=0 home part found
    shift
    name=$(basename "$path" .jar)
    rm -rf "${work:?}/$name"
    mkdir -p "$work/$name/old"
    unzip -qo "$path" '*.class' -d "$work/$name/old" 2>>"$work/warnings.txt" || true
    # Some jars only carry other jars.
    [[ $(find "$work/$name/old" -name '*.class' -print -quit) ]] || return 0
    tally=$("$rewriter" "$work/$name/old" "$work/$name/new")
    for home; do
        for part in old new; do
            jvm "$home" --patch-module "java.base=$work/probe" -cp "$work/load" \
                Load "$work/$name/$part" "${libraries[@]}" >"$work/$name/$part.txt" || true
        done
        found=$(new_failures "$work/$name"/{old,new}.txt "$work/$name/failures-$(basename "$home").txt")
        failures=$((failures + found))
    done
    failures=$((failures + $(library "$name")))
    row "$name" "$tally" "$failures"
}

# The methods that a compiler refuses, from the output of a JVM.
refused() {
    grep -E 'COMPILE SKIPPED|not compilable' "$1" | grep -oE '[^ ]+::[^ ]+' | sort -u
}

# Runs a program on a JDK and prints how many methods compilers refuse only with the agent. A name, the
# JDK's home, options of the agent, patterns of what is compiled, --, and what java is to run. The
# program's last line is `ran …`.
compiled() {
    local name=$1 home=$2 options=$3 flags=() compiler part failures=0 found count
    local dir=$work/compiled/$1-$(basename "$2")
    shift 3
    while [[ $1 != -- ]]; do
        flags+=("-XX:CompileCommand=compileonly,$1")
        shift
    done
    shift
    flags+=(-Xcomp -Xbatch -XX:CompileCommand=quiet -XX:+PrintCompilation)
    mkdir -p "$dir"
    for compiler in TieredStopAtLevel=1 -TieredCompilation; do
        for part in old new; do
            local with=()
            if [[ $part == new ]]; then with=("-agentpath:$agent=out=$dir/trace$options"); fi
            "$home/bin/java" "${with[@]}" "${flags[@]}" "-XX:$compiler" "$@" \
                >"$dir/$compiler-$part.txt" 2>>"$work/warnings.txt" || true
            if ! grep -q '^ran' "$dir/$compiler-$part.txt"; then
                echo "the program ended early: $dir/$compiler-$part.txt" >&2
                failures=$((failures + 1))
            fi
        done
        found=$(comm -13 <(refused "$dir/$compiler-old.txt") <(refused "$dir/$compiler-new.txt") |
            tee "$dir/$compiler-refused.txt" | wc -l)
        failures=$((failures + found))
    done
    count=$({ grep -ohE '[^ ]+::[^ ]+ \([0-9]+ bytes\)' "$dir"/*-new.txt || true; } | sort -u | wc -l)
    # Where nothing is compiled nothing is refused either.
    if ((count == 0)); then failures=$((failures + 1)); fi
    printf '%-24s %8s %8s\n' "$name" "$count" "$failures"
    if ((failures > 0)); then failed=1; fi
}

# The code of popular libraries, and javac as it compiles a program.
run_corpus() {
    local home=$1 hot=$work/hot jars=$work/jars kotlin scala
    kotlin=$(echo "$jars"/kotlin*.jar | tr ' ' ':')
    scala=$(echo "$jars"/scala-library-*.jar)
    "$java17/bin/javac" -d "$hot" -cp "$kotlin:$scala" tests/corpus/hot/*.java
    compiled kotlin "$home" '' 'kotlin*::*' -- -cp "$hot:$kotlin" KotlinCode
    compiled scala "$home" '' 'scala*::*' -- -cp "$hot:$scala" ScalaCode
    # This Groovy reads no classes of JDK 25.
    if [[ $home == "$java17" ]]; then
        compiled groovy "$home" '' 'groovy*::*' 'org*::*' 'Counter*::*' 'code*::*' -- \
            -cp "$(echo "$jars"/groovy-*.jar)" groovy.ui.GroovyMain tests/corpus/hot/code.groovy
    fi
    compiled clojure "$home" '' 'clojure*::*' 'user*::*' -- \
        -cp "$(echo "$jars"/clojure-*.jar "$jars"/*spec*alpha*.jar | tr ' ' ':')" \
        clojure.main tests/corpus/hot/code.clj
    compiled javac "$home" ',include=com.sun.tools.**;java.util.**;java.lang.**' \
        'com.sun.tools.javac*::*' 'java.util*::*' 'java.lang.String*::*' -- \
        -cp "$work/load" Compile tests/corpus/Load.java "$work/load/by-javac"
}

: >"$work/warnings.txt"
if [[ $fast ]]; then
    jdk jdk-17 "$java17" 'java\.base'
    for path in java-harness/target/lib/{clojure,junit-platform-console-standalone}.jar; do
        if [[ -f $path ]]; then jar "$path" "$java17"; fi
    done
else
    mvn -q -B -Dstyle.color=never -f tests/corpus/pom.xml dependency:copy -Dcorpus="$work/jars" ||
        refuse "the jars of the corpus could not be fetched"
    libraries=("$work"/jars/*.jar)
    jdk jdk-17 "$java17" '.*'
    jdk jdk-25 "$java25" '.*'
    for path in "$work"/jars/*.jar; do
        jar "$path" "$java17" "$java25"
    done
fi

printf '\n%-24s %8s %8s\n' compiled methods 'new fail'
compiled locked "$java17" '' 'LockedBlock::*' -- -cp "$work/load" Locked
if [[ ! $fast ]]; then
    compiled locked "$java25" '' 'LockedBlock::*' -- -cp "$work/load" Locked
    run_corpus "$java17"
    run_corpus "$java25"
fi
exit "$failed"
