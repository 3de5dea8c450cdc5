# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run, ripd/demo and .ci/run: installs the missing Debian packages of a list.
#
#   packages_install FILE    FILE has one package name a line
#
# Uses sudo only if a package is missing and the caller is not root. Services of the installed packages are not started.

packages_missing() {
    local name
    while read -r name; do
        [ -n "$name" ] || continue
        dpkg-query -W -f='${Status}\n' "$name" 2>/dev/null | grep -q '^install ok installed$' || printf '%s\n' "$name"
    done <"$1"
}

packages_install() {
    local missing as_root=() policy=/usr/sbin/policy-rc.d made_policy=no status=0
    command -v dpkg-query >/dev/null 2>&1 || {
        echo "this is not a Debian system; install the equivalents of: $(tr '\n' ' ' <"$1")" >&2
        return 0
    }
    missing=$(packages_missing "$1")
    [ -n "$missing" ] || return 0
    echo "installing:" $missing >&2
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || {
            echo "these Debian packages are missing, and sudo is not installed:" $missing >&2
            return 1
        }
        as_root=(sudo)
    fi
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" sh -c "cat >$policy && chmod 755 $policy"
        made_policy=yes
    fi
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends $missing >/dev/null || status=1
    [ "$made_policy" = no ] || "${as_root[@]}" rm -f "$policy"
    [ "$status" -eq 0 ] || echo "installing packages failed:" $missing >&2
    return "$status"
}
