"""`ask chat` at a terminal: an editor below, what is said above it, everything live.

    means      what it takes to draw
    desk       what slash commands work on: one conversation, as its chat holds it
    slash      the table of the slash commands, and how a line is told from one
    looks      slash commands that show something
    wishes     slash commands that change what further prompts are sent with
    reader     the one thread that owns the socket; everything else asks it
    onlooker   asks by the reader what nobody needs, and starts no daemon for it
    letter     a prompt on its way
    past       where a terminal in a known conversation begins
    view       what is shown, from what the daemon says: pure
    print      finished pieces of it as text for a terminal: pure
    tail       the last rows of a text that still grows: pure
    present    what the windows show at this moment
    status     the line at the bottom: model, window, cost, queue, who else is here
    recall     what was typed before, in a file of one's own
    offers     what Tab offers in a line
    keys       what each key does
    screen     the windows below the text
    stage      where finished text goes, above them
    watch      a terminal that shows a conversation live
    app        the same, and what is typed; `begin` starts it

The plain chat (`ask.commands.chat`) shares desk and slash commands and nothing else. Only
`recall`, `offers`, `keys`, `screen`, `stage`, `watch`, `app` and `begin` import prompt_toolkit,
and nobody imports them before a chat at a terminal begins.
"""
