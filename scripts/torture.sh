#!/usr/bin/env bash
# The proofs that nothing is lost, in numbers: scripts/torture.sh [test]…
#
# Kills programs at random instants and at every system call that touches the trace, lets the disk fill up
# and break, starts threads by the hundred thousand. The same tests run with small numbers in
# scripts/test.sh. Takes about an hour. A test is a part of a name, such as kills or crowds::short.
#
# Environment: TORTURE_SEED (1), from which everything follows; how often each thing is tried, below;
# FLOW_TEST_JDKS, see scripts/jdks.sh. A million virtual threads:
#
#   TORTURE_VIRTUAL_THREADS=1000000 scripts/torture.sh crowds::virtual
#
# What was measured is in the lines that begin with "torture:". Exit status: 0 all passed.
set -euo pipefail
cd "$(dirname "$0")/.."

export TORTURE_LONG=1
export TORTURE_SEED=${TORTURE_SEED:-1}
# Kills at random instants, on each JDK.
export TORTURE_KILLS=${TORTURE_KILLS:-200}
# Kills at each of so many system calls: before it, after it, half-way through a write.
export TORTURE_CALLS=${TORTURE_CALLS:-500}
export TORTURE_CALLS_TRIED=${TORTURE_CALLS_TRIED:-$TORTURE_CALLS}
# Kills while an earlier trace is moved away.
export TORTURE_MOVES=${TORTURE_MOVES:-60}
# Disks that fill up, break, or have no descriptors left; calls that fail once.
export TORTURE_DISKS=${TORTURE_DISKS:-20}
export TORTURE_ONCE=${TORTURE_ONCE:-60}
# Allocations of the agent that fail, of each kind of test; 0 is every one of a run, which takes hours.
export TORTURE_MEMORY=${TORTURE_MEMORY:-300}
export TORTURE_THREADS=${TORTURE_THREADS:-100000}
export TORTURE_VIRTUAL_THREADS=${TORTURE_VIRTUAL_THREADS:-100000}
export TORTURE_PASSING_THREADS=${TORTURE_PASSING_THREADS:-1000000}
# Each way to end; the cost of the end.
export TORTURE_ENDS=${TORTURE_ENDS:-50}
export TORTURE_END_COSTS=${TORTURE_END_COSTS:-5}
export TORTURE_FORKS=${TORTURE_FORKS:-10}
# Recordings that begin and end in one program, on each JDK.
export TORTURE_CYCLES=${TORTURE_CYCLES:-1000}
# Overflows of the stack, on each JDK.
export TORTURE_OVERFLOWS=${TORTURE_OVERFLOWS:-10000}
export TORTURE_SPEED_SECONDS=${TORTURE_SPEED_SECONDS:-60}

# The release build, one test at a time: so that figures mean something.
cargo build --release --quiet --workspace
filters=()
for test in "$@"; do filters+=("torture::$test"); done
if [ ${#filters[@]} -eq 0 ]; then filters=(torture::); fi
cargo test --release --quiet -p flow-e2e --test e2e -- --nocapture --test-threads=1 "${filters[@]}"
