"""How the blocks of the pages are run that cannot be run as they stand, and which are not run.

Keyed by page, and by the beginning of a block. What is not here is run as it stands, without a
terminal, and ends with 0. An entry that no block needs any more fails the test, as does a block
that needs one.
"""

from collections.abc import Mapping

from tests.system.pages_run import Way

ELSEWHERE: Mapping[str, str] = {
    "several-machines.md": "test_far.py",
    "write-a-program.md": "test_program.py",
    "systemd.md": "test_script_pages.py",
}
"""Pages whose programs are run by a test that has what they need: a second machine behind a real
`sshd`, somebody who answers, a systemd that keeps count."""

SHOWN: Mapping[str, str] = {
    "text": "what a program prints, or a file of another kind",
    "console": "a transcript, in which ids are those of its day; its commands are understood",
    "ini": "a file of another program, which reads it",
}
"""Languages of blocks in which there is nothing to run."""

ACCOUNT = "an account with that vendor, and a browser: test_sign_in_pages.py plays both"
SIGN_IN = "a server with a sign-in of its own, and a browser: test_sign_in_pages.py plays both"
INSTALL = "the network, to install it; the first step of a check of the project does it"
LEAVE = "\x04"
YES = (("?", "y\n"),)

UNTIL = "until ask jobs list --json | jq -e 'any(.needs_you)' > asked; do :; done"
"""Waits for a question."""
ASKS = (
    "ask -q --detach --approve ask -T run_command "
    """'CALLS:[["run_command", {"command": "true"}]]' > job; """ + UNTIL
)
"""Leaves a turn that asks whether it may; its job is in the file `job`."""
WRITES = """\
ask -q -T write_file --approve auto 'CALLS:[["write_file", {"path": "new.txt", "content": "x"}]]'
"""
"""A turn that has written a file."""
NEWEST = "ask history restore --json | jq -r '.[0].id'"
FAILED = 'ask -q --detach "FAIL 400" > job; ! ask jobs wait "$(cat job)"'
DOCS = "ask mcp add docs --force -- npx docs"
"""A server of that name that starts here."""
GREET = {"docs review": "echo docs greet", "file=app.py": "echo who=Ada"}
"""The only prompt that it has."""
ELICIT = (
    '[["files__elicit", {"schema": {"type": "object", "properties": '
    '{"name": {"type": "string"}, "size": {"type": "integer"}}}}]]'
)
"""A call of which a server asks for two things."""

PREPARE: Mapping[str, str] = {
    "find-things.md": "ask -q 'The migration, a rollback plan, deployment and quarterly numbers.'\n"
    "for number in 1 2 3 4 5 6 7; do ask -q -s work 'ECHO:a connection pool'; done",
    "move-from-codex.md": "mkdir -p ~/.codex/sessions/2026/01/02\n"
    'cp "$ROLLOUTS"/*/*.jsonl ~/.codex/sessions/2026/01/02/\n'
    "printf '[mcp_servers.theirs]\\ncommand = \"npx\"\\n' > ~/.codex/config.toml",
    "remove-a-secret.md": "ask -q 'The secret is hunter2-example.'",
}
"""Shell that is run before a page's first block, beside the conversation `work`."""

WAYS: Mapping[str, Mapping[str, Way]] = {
    "README.md": {
        "python3 -m venv .venv && .venv/bin/python -m pip install -q --upgrade pip && "
        ".venv/bin/pip install -q '.[local]'": Way(unless=INSTALL),
        "python3 -m venv": Way(unless=INSTALL),
        "git diff": Way(keys=[("tok19", ""), ("tok19", ""), ("tok19", ""), ("tok19", LEAVE)]),
        "export ANTHROPIC": Way(without={"ask auth login": ACCOUNT}),
    },
    "tutorial.md": {
        "ask attach work": Way(keys=[("tok19", LEAVE)]),
        "ask chat": Way(keys=[("", "/models\n/exit\n")]),
        "ask history delete": Way(keys=YES),
    },
    "background-jobs.md": {
        "ask jobs show 4aac0864\nask jobs show 4aac0864 --answer": Way(
            before=ASKS, swap={"4aac0864": "cat job"}
        ),
        "ask jobs show 4aac0864\nask jobs logs": Way(
            before="ask -q --detach Hello > job", swap={"4aac0864": "cat job"}
        ),
        "ask jobs wait 4aac0864": Way(
            before="ask -q --detach Hello > other",
            swap={"4aac0864": "cat job", "e638f973": "cat other"},
        ),
        "ask jobs cancel 4aac0864": Way(before=ASKS, swap={"4aac0864": "cat job"}),
    },
    "delete-and-keep.md": {
        "ask history delete work\nask history delete 1f3a": Way(
            swap={"1f3a": "ask new", "90cc": "ask new"}, keys=YES
        ),
        "ask history delete --older": Way(keys=[("Nothing to delete", "")]),
        "ask history delete work --backups": Way(
            before="ask -q -s work Hello\n"
            'cp "$ASK_HOME/data/ask.db" "$ASK_HOME/data/ask.db.backup-1"',
            keys=[*YES, *YES],
        ),
        "ask history import": Way(
            before="cd; mkdir -p .local/share/ask/archive; ask -q -s kept Hello\n"
            "ask history export kept --format codex -o "
            ".local/share/ask/archive/rollout-2026-01-31T09-30-00-1f3a….jsonl"
        ),
    },
    "find-things.md": {
        "ask history show work -n 20": Way(keys=[("ECHO:", LEAVE)]),
    },
    "local-models-only.md": {
        "ask api config/write": Way(
            swap={"! ask": "echo 'unset ANTHROPIC_BASE_URL; ! ANTHROPIC_API_KEY=x ask'"},
            shows="`local_only` is set",
        ),
    },
    "mcp.md": {
        "ask jobs show 4aac0864": Way(
            before=f"ask -q --detach -T files__elicit --approve ask 'CALLS:{ELICIT}' > job\n"
            f'{UNTIL}; ask jobs show "$(cat job)" --answer 1; {UNTIL}',
            swap={"4aac0864": "cat job"},
        ),
        "ask mcp resources": Way(before=DOCS, swap={"guide://style/naming": "echo note://one"}),
        "ask mcp prompt": Way(before=DOCS, swap=GREET),
        "ask mcp login": Way(unless=SIGN_IN),
    },
    "move-from-codex.md": {
        "ask auth status": Way(without={"ask -m chatgpt": ACCOUNT}),
    },
    "move-from-llm.md": {
        "llm logs": Way(shows="Question 2?"),
    },
    "move-conversations.md": {
        "ask history import": Way(
            before="mkdir -p ~/.codex/sessions/2026/01/02; ask -q -s other Hello\n"
            "ask history export other --format codex -o ~/.codex/sessions/2026/01/02/r.jsonl\n"
            "ask history export other -o old.jsonl; gzip old.jsonl"
        ),
    },
    "notifications.md": {
        "ask doctor --notify": Way(
            before="""ask api config/write '{"key": "notify.command", "value": ["true"]}'"""
        ),
        "#!/bin/sh": Way(swap={"exec curl": "echo 'set -- title body; exec curl'"}),
        "ask jobs logs 4aac0864": Way(before=FAILED, swap={"4aac0864": "cat job"}),
    },
    "put-ask-on-your-path.md": {
        ".venv/bin/ask install-launcher": Way(
            before="rm ~/.local/bin/ask",
            swap={".venv/bin/ask": "echo ask"},
            shows="starts ask",
        ),
    },
    "recover.md": {
        "ask doctor --restore": Way(
            swap={
                "ask.db.backup-1": 'find "$ASK_HOME/data" -name "ask.db.backup-*" -printf "%f\\n"'
            }
        ),
    },
    "remove-a-secret.md": {
        "ask history scrub hunter2-example": Way(keys=YES),
        "ask history scrub -\n": Way(keys=[(":", "hunter2-other\n")]),
    },
    "schedules.md": {
        "ask schedule list\nask schedule show": Way(
            before='ask jobs wait "$(ask schedule run news)"'
        ),
        "loginctl": Way(
            before="mkdir -p ~/.config/systemd/user; touch ~/.config/systemd/user/askd.service\n"
            "systemctl --user daemon-reload"
        ),
    },
    "share-a-conversation.md": {
        "ask attach work\n": Way(keys=[("tok19", LEAVE)]),
        "ask attach work -r": Way(keys=[("tok19", "\x03")]),
    },
    "shell-completion.md": {
        "source": Way(swap={"source": "echo 'autoload -Uz compinit && compinit -D; source'"}),
    },
    "sign-in.md": {
        "ask auth login chatgpt": Way(unless=ACCOUNT),
        "ask auth login copilot": Way(unless=ACCOUNT),
    },
    "templates.md": {
        "ask chat -t review": Way(before="ask templates edit review"),
        "ask -t docs:review": Way(
            before=DOCS, swap={"docs:review": "echo docs:greet", "file=app.py": "echo who=Ada"}
        ),
    },
    "undo-what-a-tool-did.md": {
        "ask history restore\n": Way(before=WRITES, swap={"3f9a0c11d2e4": NEWEST}, keys=YES),
        "ask history restore 3f9a --dry": Way(before=WRITES, swap={"3f9a": NEWEST}),
        "git diff": Way(swap={"3f9a0c11d2e4": NEWEST}),
    },
    "use-another-model.md": {
        'ask -m ollama/qwen3:8b "Only': Way(before="ask history delete work --yes"),
    },
}
