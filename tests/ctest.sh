# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and .ci/run: runs the tests of a build.
#
#   ctest_run BUILD [CTEST-ARGS...]    returns 0 if all tests pass
#
# ctest_jobs tests run at the same time. That is more than there are cores, because most tests mostly wait. If at most
# five tests fail, they run once more, one at a time, because a failure on a busy machine is not a bug of the program.
# Tests that pass then are listed as unsteady at the end and should be fixed. If a sanitizer reported an error, nothing
# runs again.

ctest_retries_max=5
ctest_jobs=$((3 * $(nproc) + 1))

ctest_unsteady() { # BUILD: prints the tests that the last ctest reported as failed, one a line
    sed 's/^[0-9]*://' "$1/Testing/Temporary/LastTestsFailed.log"
}

# Background jobs of a script ignore SIGINT, and so do their children. Tests end programs with SIGINT, so reset it.
ctest_here() { # BUILD CTEST-ARGS...
    (cd "$1" && env --default-signal=INT,QUIT ctest --output-on-failure "${@:2}")
}

ctest_run() {
    local build output failed count
    build=$(cd "$1" && pwd)
    shift
    output=$build/Testing/output.txt
    mkdir -p "$build/Testing"
    rm -f "$build/Testing/Temporary/LastTestsFailed.log"
    if (set -o pipefail
        ctest_here "$build" -j "$ctest_jobs" --no-tests=error "$@" 2>&1 | tee "$output"); then
        return 0
    fi
    [ -s "$build/Testing/Temporary/LastTestsFailed.log" ] || return 8
    failed=$(ctest_unsteady "$build")
    count=$(printf '%s\n' "$failed" | wc -l)
    if grep -qE '(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:' "$output"; then
        echo "A sanitizer reported an error, so no failed test runs again."
        return 8
    fi
    [ "$count" -le "$ctest_retries_max" ] || return 8
    echo "Running again, one at a time:" $failed
    # By name: --rerun-failed counts tests, and does not count those that -E excluded.
    ctest_here "$build" --no-tests=error -R "^($(paste -sd '|' <<<"$failed"))\$" || return 8
    echo "Unsteady (failed in parallel, passed alone):" $failed
}
