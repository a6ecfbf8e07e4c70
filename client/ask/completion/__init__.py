"""What Tab offers: the words of a command line that could stand where it was pressed.

    line     a line as its shell has it: the words of it, and the piece that Tab replaces
    tree     every command with its options, from the table `words.txt`
    place    what is meant to stand there: pure, from the words and the tree
    daemon   one question to a daemon that runs, within a limit for all of it
    sources  what each kind of word can be: names, models, tools, files
    paths    files behind something that a shell does not take off by itself
    answer   the process that a shell starts: its output is for the scripts alone

The scripts for the shells lie beside it (`ask.bash`, `ask.zsh`, `ask.fish`). As little is
imported as can be, for all of it is done at every Tab: no click, no `re`, no `typing`, and
`ask.commands` only for what a command completes by a function of its own. It starts no
daemon, writes no file, asks no provider, and has no error: what cannot be had is not offered.
"""
