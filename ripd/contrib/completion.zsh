#compdef rip ripd
# SPDX-License-Identifier: Apache-2.0
#
# Completion of ripd and rip for zsh. Like the completion for bash, it parses the output of --help: a line
# "  --flag VALUE   text" defines a flag. VALUE, or a line "VALUE is one of: WORD...", selects the completions.

_rip_rings() {
    $program ls --json --timeout 500ms --url ${RIPD_URL:-http://127.0.0.1:7470} </dev/null 2>/dev/null |
        sed -n 's/^{"ring":"\([A-Za-z0-9_.@+-]*\)".*/\1/p'
}

_rip_offer_value() { # FLAG: returns false if the flag takes no value
    local value=$(sed -n "s/^  $1  *\([A-Z][A-Z:=]*\)  *.*/\1/p" <<<$help)
    case $value in
    '') return 1 ;;
    *DIR) _files -/ ;;
    *FILE | *PATH) _files ;;
    *CMD) _command_names -e ;;
    RING) compadd -- $(_rip_rings) ;;
    *) compadd -- $(sed -n "s/^$value is one of: *//p" <<<$help) ;;
    esac
    return 0
}

_rip_complete() {
    local program=${(Q)words[1]} help at=2
    local -a command
    if [[ ${program:t} = rip ]]; then
        if ((CURRENT == 2)); then
            help=$($program --help </dev/null 2>/dev/null) || return
            compadd -- $(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<$help) --help --version
            return
        fi
        command=($words[2])
        at=3
    fi
    help=$($program $command --help </dev/null 2>/dev/null) || return
    if [[ $command = run || $command = record ]]; then # these end with a program and its arguments
        if [[ $command = record ]]; then
            while ((at < CURRENT)) && [[ $words[at] != -- ]]; do at=$((at + 1)); done
        fi
        while ((at < CURRENT)) && [[ $words[at] = --?* ]]; do
            [[ $words[at] = *=* ]] || at=$((at + 1))
            at=$((at + 1))
        done
        [[ $words[at] != -- ]] || at=$((at + 1))
        if ((CURRENT > at)) || [[ $command = run && $words[CURRENT] != -* ]] || [[ $words[at-1] = -- && CURRENT -eq at ]]; then
            shift $((at - 1)) words
            CURRENT=$((CURRENT - at + 1))
            _normal
            return
        fi
    fi
    if [[ $words[CURRENT] = --*=* ]]; then
        local flag=${words[CURRENT]%%=*}
        compset -P '*='
        _rip_offer_value $flag
    elif [[ $words[CURRENT-1] = --* ]] && _rip_offer_value $words[CURRENT-1]; then
        return
    elif [[ $command = (show|record) && $words[CURRENT] != -* ]]; then
        compadd -- $(_rip_rings)
    else
        compadd -- $(sed -n 's/^  \(--[a-z][a-z-]*\)\( .*\)\{0,1\}$/\1/p' <<<$help) --help
    fi
}

_rip_complete
