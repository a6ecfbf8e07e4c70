# What Tab offers for ask, in bash 4.4 or newer: eval "$(ask completion bash)"
_ask_completion() {
    local kind text
    COMPREPLY=()
    while IFS=$'\t' read -r kind text; do
        case $kind in
            word) COMPREPLY+=("$text") ;;
            open) COMPREPLY+=("$text"); compopt -o nospace ;;
            file) compopt -o default ;;
            directory) compopt -o dirnames ;;
        esac
    done < <(_ASK_COMPLETE=bash_complete command ask \
        "$2" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
}
complete -o nosort -F _ask_completion ask
