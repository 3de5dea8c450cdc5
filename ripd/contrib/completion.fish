# SPDX-License-Identifier: Apache-2.0
#
# Completion of ripd and rip for fish. Like the completion for bash, it parses the output of --help: a line
# "  --flag VALUE   text" defines a flag. VALUE, or a line "VALUE is one of: WORD...", selects the completions.

function __rip_rings # PROGRAM
    set -l url http://127.0.0.1:7470
    set -q RIPD_URL; and set url $RIPD_URL
    $argv[1] ls --json --timeout 500ms --url $url </dev/null 2>/dev/null |
        string replace -rf '^{"ring":"([A-Za-z0-9_.@+-]*)".*' '$1'
end

function __rip_offer_value # PROGRAM FLAG HELP...: returns false if the flag takes no value
    set -l value (string replace -rf -- "^  $argv[2] +([A-Z][A-Z:=]*) .*" '$1' $argv[3..])
    switch "$value"
        case ''
            return 1
        case '*DIR'
            __fish_complete_directories (commandline -ct)
        case '*FILE' '*PATH'
            __fish_complete_path (commandline -ct)
        case '*CMD'
            __fish_complete_command
        case RING
            __rip_rings $argv[1]
        case '*'
            string replace -rf "^$value is one of: *" '' $argv[3..] | string split -n ' '
    end
    return 0
end

function __rip_flags # HELP...
    string replace -rf '^  (--[a-z][a-z-]*)( .*)?$' '$1' $argv
    echo --help
end

function __rip_arguments
    set -l typed (commandline -opc)
    set -l program $typed[1]
    set -l command
    if string match -qr '(^|/)rip$' -- $program
        if test (count $typed) -eq 1
            $program --help </dev/null 2>/dev/null | string replace -rf '^  ([a-z]+) .*' '$1'
            printf '%s\n' --help --version
            return
        end
        set command $typed[2]
    end
    set -l help ($program $command --help </dev/null 2>/dev/null); or return
    if test "$command" = record; and contains -- -- $typed
        __fish_complete_command
        return
    end
    if test (count $typed) -gt 1; and string match -q -- '--*' $typed[-1]
        __rip_offer_value $program $typed[-1] $help; and return
    end
    if contains -- "$command" show record; and not string match -q -- '-*' (commandline -ct)
        __rip_rings $program
    else if test "$command" = run; and not string match -q -- '-*' (commandline -ct)
        __fish_complete_command
    else
        __rip_flags $help
    end
end

complete -c rip -f -a '(__rip_arguments)'
complete -c ripd -f -a '(__rip_arguments)'
