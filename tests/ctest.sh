# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run and .ci/run: one way to run the tests of a build.
#
#   ctest_run BUILD [CTEST-ARGS...]    0 if all pass
#
# ctest_jobs tests run beside each other, more than there are cores: most of them wait most of the time. Up to five that
# fail then run once more, alone: a machine that is too busy for a test is not a fault of the program. They are named at
# the end as unsteady, to be mended. A report of a sanitizer is never taken for a busy machine.

ctest_retries_max=5
ctest_jobs=$((3 * $(nproc) + 1))

ctest_unsteady() { # BUILD: what the last ctest of it names as failed, a line each
    sed 's/^[0-9]*://' "$1/Testing/Temporary/LastTestsFailed.log"
}

# What a script runs in the background ignores SIGINT, with all that comes of it, and tests end programs with it.
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
        echo "A sanitizer reported something, so nothing runs again."
        return 8
    fi
    [ "$count" -le "$ctest_retries_max" ] || return 8
    echo "Once more, alone:" $failed
    ctest_here "$build" --rerun-failed || return 8
    echo "Unsteady (failed beside other tests, passed alone):" $failed
}
