#compdef ask
# What Tab offers for ask, in zsh: as a file _ask on the fpath, or source <(ask completion zsh)
_ask() {
    local -a fields lines described plain
    local line kept
    lines=("${(@f)$(_ASK_COMPLETE=zsh_complete command ask \
        "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    for line in "${lines[@]}"; do
        fields=("${(@ps:\t:)line}")
        case $fields[1] in
            word)
                # What _describe reads: a colon is the end of the word, a backslash takes that away.
                kept=${${fields[2]//\\/\\\\}//:/\\:}
                if [[ -n $fields[3] ]]; then
                    described+=("$kept:$fields[3]")
                else
                    plain+=("$kept")
                fi
                ;;
        esac
    done
    (( $#described )) && _describe -V ask described
    (( $#plain )) && _describe -V ask plain
    for line in "${lines[@]}"; do
        fields=("${(@ps:\t:)line}")
        kept=$fields[2]
        case $fields[1] in
            file) [[ -z $kept ]] || compset -p $#kept && _files ;;
            directory) [[ -z $kept ]] || compset -p $#kept && _files -/ ;;
        esac
    done
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _ask "$@"
else
    compdef _ask ask
fi
