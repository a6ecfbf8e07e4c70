"""The commands: one file a group, loaded only when its name is said.

`COMMANDS` is the one table of names. Every name of the design is reserved from
the start, so that no prompt of today changes its meaning when a command comes.
"""

COMMANDS: dict[str, str | None] = {
    "api": "ask.commands.api",
    "attach": "ask.commands.attach",
    "auth": "ask.commands.auth",
    "chat": "ask.commands.chat",
    "clear": "ask.commands.conversations",
    "compact": "ask.commands.compacting",
    "completion": "ask.commands.completion",
    "config": "ask.commands.config",
    "daemon": "ask.commands.daemon",
    "dial-stdio": "ask.commands.dial_stdio",
    "doctor": "ask.commands.doctor",
    "fork": "ask.commands.fork",
    "history": "ask.commands.history",
    "install-launcher": "ask.commands.install_launcher",
    "jobs": "ask.commands.jobs",
    "list": "ask.commands.conversations",
    "mcp": "ask.commands.mcp",
    "models": "ask.commands.models",
    "new": "ask.commands.conversations",
    "pin": "ask.commands.pins",
    "prune": "ask.commands.compacting",
    "ps": "ask.commands.conversations",
    "rename": "ask.commands.conversations",
    "resume": "ask.commands.conversations",
    "schedule": "ask.commands.schedules",
    "templates": "ask.commands.templates",
    "tools": "ask.commands.tools",
    "unpin": "ask.commands.pins",
    "usage": "ask.commands.usage",
}
"""Name to module; its click command is the module's `NAME_command`. None: not in this version."""
