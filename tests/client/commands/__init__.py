"""The commands, each driven through the real client against a daemon in a thread."""
