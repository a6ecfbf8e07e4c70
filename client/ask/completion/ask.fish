# What Tab offers for ask, in fish: ask completion fish > ~/.config/fish/completions/ask.fish
function __ask_completion
    set -l line (commandline -cp | string collect)
    for offer in (_ASK_COMPLETE=fish_complete command ask $line 2>/dev/null </dev/null)
        set -l fields (string split -m 2 \t -- $offer)
        switch $fields[1]
            case word
                printf '%s\t%s\n' $fields[2] $fields[3]
            case file directory
                # An empty command takes any file; a ~ is a home only where nothing quotes it.
                set -l typed (string escape -- $fields[3])
                if string match -q '~/*' -- $fields[3]
                    set typed '~/'(string escape -- (string sub -s 3 -- $fields[3]))
                end
                for path in (complete -C "'' $typed")
                    set -l name (string split -f 1 \t -- $path)
                    if test $fields[1] = file; or string match -q '*/' -- $name
                        printf '%s%s\n' $fields[2] $name
                    end
                end
        end
    end
end
complete --command ask --no-files --arguments '(__ask_completion)'
