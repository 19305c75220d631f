#!/usr/bin/env bash
# Tests that nothing is lost, with large numbers: scripts/torture.sh [TEST]…
#
# Kills programs at random instants and at every system call that touches the trace, fills and breaks the
# disk, starts hundreds of thousands of threads. scripts/test.sh runs the same tests with small numbers. Takes
# about an hour. TEST is part of the name of a test, such as kills or crowds::short. Without TEST, tests of other modules
# that have a long form run in it, too.
#
# Environment: TORTURE_SEED (1), which determines all that is random; the numbers of repetitions below;
# FLOW_TEST_JDKS, see scripts/jdks.sh. A million virtual threads:
#
#   TORTURE_VIRTUAL_THREADS=1000000 scripts/torture.sh crowds::virtual
# With FLOW_E2E_OUT=file programs record into one file:
#   FLOW_E2E_OUT=file scripts/torture.sh kills::killed
#
# Lines that begin with "torture:" contain measurements. Exit status: 0 all passed.
set -euo pipefail
cd "$(dirname "$0")/.."

export TORTURE_LONG=1
export TORTURE_SEED=${TORTURE_SEED:-1}
# Kills at random instants, on each JDK.
export TORTURE_KILLS=${TORTURE_KILLS:-200}
# System calls at each of which a program is killed: before it, after it, half-way through a write.
export TORTURE_CALLS=${TORTURE_CALLS:-500}
export TORTURE_CALLS_TRIED=${TORTURE_CALLS_TRIED:-$TORTURE_CALLS}
# Kills while an earlier trace is being moved away.
export TORTURE_MOVES=${TORTURE_MOVES:-60}
# Disks that fill up, break, or have no descriptors left; calls that fail once.
export TORTURE_DISKS=${TORTURE_DISKS:-20}
export TORTURE_ONCE=${TORTURE_ONCE:-60}
# Failed allocations of the agent, in each kind of test; 0 fails every one of a run, which takes hours.
export TORTURE_MEMORY=${TORTURE_MEMORY:-300}
export TORTURE_THREADS=${TORTURE_THREADS:-100000}
export TORTURE_VIRTUAL_THREADS=${TORTURE_VIRTUAL_THREADS:-100000}
export TORTURE_PASSING_THREADS=${TORTURE_PASSING_THREADS:-1000000}
# Repetitions of each way to end, and of the measurement of what the end costs.
export TORTURE_ENDS=${TORTURE_ENDS:-50}
export TORTURE_END_COSTS=${TORTURE_END_COSTS:-5}
export TORTURE_FORKS=${TORTURE_FORKS:-10}
# Programs whose collector is stopped, killed and started again.
export TORTURE_COLLECTORS=${TORTURE_COLLECTORS:-100}
# Tokens that threads hand to each other, for each way to do so; recordings that are suspended.
export TORTURE_HAND_OVERS=${TORTURE_HAND_OVERS:-1000000}
export TORTURE_SUSPENSIONS=${TORTURE_SUSPENSIONS:-10000}
# Filters of one recording.
export TORTURE_FILTERS=${TORTURE_FILTERS:-900}
# Recordings that begin and end in one program, on each JDK.
export TORTURE_CYCLES=${TORTURE_CYCLES:-1000}
# Overflows of the stack, on each JDK.
export TORTURE_OVERFLOWS=${TORTURE_OVERFLOWS:-10000}
# Samples every millisecond in programs that make it hard, all of a JDK at once; and attaching with samples.
export TORTURE_SAMPLING_SECONDS=${TORTURE_SAMPLING_SECONDS:-1800}
export TORTURE_SAMPLING_ATTACHES=${TORTURE_SAMPLING_ATTACHES:-500}
export TORTURE_SPEED_SECONDS=${TORTURE_SPEED_SECONDS:-60}

# The release build, and one test at a time, so that measurements are comparable.
quiet=--quiet
[ ! -t 2 ] || quiet=
cargo test --release $quiet --workspace --test e2e --no-run
filters=()
for test in "$@"; do filters+=("torture::$test"); done
if [ ${#filters[@]} -eq 0 ]; then filters=(torture:: counts:: behaviour::the_jvms_own_checks_find_nothing); fi
cargo test --release --quiet --workspace --test e2e -- --nocapture --test-threads=1 "${filters[@]}"
