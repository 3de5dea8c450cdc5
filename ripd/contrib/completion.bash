# SPDX-License-Identifier: Apache-2.0
#
# Completion of ripd and rip for bash. It contains no list of flags and commands. It parses the output of --help of the
# program on the command line, so it fits every version.
#
# A line "  --flag VALUE   text" of the output defines a flag. VALUE selects the completions (DIR, FILE, PATH, LEVEL, CMD,
# RING), or a line "VALUE is one of: WORD..." lists them.

# Prints the help of a program or of its command: _rip_help PROGRAM [COMMAND]
_rip_help() {
    "${1/#\~/$HOME}" "${@:2}" --help </dev/null 2>/dev/null
}

_rip_flags() { # HELP
    sed -n 's/^  \(--[a-z][a-z-]*\)\( .*\)\{0,1\}$/\1/p' <<<"$1"
}

_rip_value() { # HELP FLAG: prints the name of the flag's value; nothing if it takes none or if the flag is unknown
    sed -n "s/^  $2  *\([A-Z][A-Z:=]*\)  *.*/\1/p" <<<"$1"
}

_rip_offer() { # WORDS...: offers the words that begin with the current word
    mapfile -t COMPREPLY < <(compgen -W "$*" -- "$current")
}

_rip_offer_files() { # -d, -f or -c
    mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
    compopt -o filenames 2>/dev/null || true # fails outside of a completion, for example in tests
}

# Prints the names of rings that need no quotes, from the default ripd.
_rip_rings() {
    "${COMP_WORDS[0]/#\~/$HOME}" ls --json --timeout 500ms --url "${RIPD_URL:-http://127.0.0.1:7470}" </dev/null \
        2>/dev/null | sed -n 's/^{"ring":"\([A-Za-z0-9_.@+-]*\)".*/\1/p'
}

# Offers the values of a flag. Returns false if the flag takes no value.
_rip_offer_value() { # HELP FLAG
    local value levels
    [[ $2 =~ ^--[a-z-]+$ ]] || return 1
    value=$(_rip_value "$1" "$2")
    case $value in
    '') return 1 ;;
    *DIR) _rip_offer_files -d ;;
    *FILE | *PATH) _rip_offer_files -f ;;
    *CMD) _rip_offer_files -c ;;
    RING) _rip_offer $(_rip_rings) ;;
    LEVEL)
        levels=$(sed -n "s/^  $2  *LEVEL  *\([^:]*: \)\{0,1\}\([a-z, ]*\) \[.*/\2/p" <<<"$1")
        levels=${levels//,/ }
        _rip_offer ${levels/ or / } ;;
    *) _rip_offer $(sed -n "s/^$value is one of: *//p" <<<"$1") ;;
    esac
    return 0
}

# Sets current and previous, which the caller has declared. bash splits --flag=value into three words.
_rip_words() {
    local at=$COMP_CWORD
    current=${COMP_WORDS[at]}
    [ "$current" != = ] || current=
    [ "$at" -lt 1 ] || [ "${COMP_WORDS[at]}" = = ] || [ "${COMP_WORDS[at - 1]}" != = ] || at=$((at - 1))
    previous=
    [ "$at" -lt 1 ] || previous=${COMP_WORDS[at - 1]}
}

_ripd() {
    local current previous help
    COMPREPLY=()
    _rip_words
    help=$(_rip_help "${COMP_WORDS[0]}") || return
    _rip_offer_value "$help" "$previous" || _rip_offer $(_rip_flags "$help")
}

# Prints the index of the program that "rip run" or "rip record" will run; the number of words if there is none yet.
_rip_program() { # HELP
    local at
    for ((at = 2; at < ${#COMP_WORDS[@]}; at++)); do
        case ${COMP_WORDS[at]} in
        --) echo $((at + 1)); return ;;
        --*)
            if [ "${COMP_WORDS[at + 1]-}" = = ]; then
                at=$((at + 2))
            elif [ -n "$(_rip_value "$1" "${COMP_WORDS[at]}")" ]; then
                at=$((at + 1))
            fi ;;
        *) [ "${COMP_WORDS[1]}" = record ] || { echo "$at"; return; } ;; # rip record takes rings before the --
        esac
    done
    echo "$at"
}

_rip() {
    local current previous help program
    COMPREPLY=()
    _rip_words
    if [ "$COMP_CWORD" -le 1 ]; then
        help=$(_rip_help "${COMP_WORDS[0]}") || return
        _rip_offer $(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help") --help --version
        return
    fi
    help=$(_rip_help "${COMP_WORDS[0]}" "${COMP_WORDS[1]}") || return
    if [ "${COMP_WORDS[1]}" = run ] || [ "${COMP_WORDS[1]}" = record ]; then
        program=$(_rip_program "$help")
        if [ "$COMP_CWORD" -gt "$program" ]; then
            if declare -F _command_offset >/dev/null; then _command_offset "$program"; else _rip_offer_files -f; fi
            return
        fi
        if [ "$COMP_CWORD" -eq "$program" ] && [[ $current != -* ]]; then
            _rip_offer_files -c
            return
        fi
    fi
    _rip_offer_value "$help" "$previous" && return
    if [[ ${COMP_WORDS[1]} = @(show|record) && $current != -* ]]; then
        _rip_offer $(_rip_rings)
    else
        _rip_offer $(_rip_flags "$help") --help
    fi
}

complete -F _ripd ripd
complete -F _rip rip
