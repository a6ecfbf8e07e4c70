"""What the reader of a page is taken to have: a project, programs, and models that answer.

Nothing of it is real outside: servers of tools, systemd, the desktop, the installer and the
providers are ours, and answer at once. It knows nothing of the pages.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer
from tests.fakes.chat_server import ChatServer
from tests.fakes.systemctl import Systemctl
from tests.system.world import ASK, LIMIT_S, ROOT, World

CONFIG = """\
default_model = "work/fake"
[providers.work]
dialect = "openai-chat"
base_url = "{base_url}"
[providers.openai]
dialect = "openai-chat"
base_url = "{base_url}"
"""
"""The daemon's own server, so that cron, schedules and timers need no caller's key."""

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8"
    "cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
"""A PNG of one pixel."""

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
FILES = {
    **dict.fromkeys(("README.md", "CONTRIBUTING.md", "notes.md", "plan.md"), "# A page\n\nText.\n"),
    **dict.fromkeys(
        ("notes.txt", "report.txt", "review.txt", "letter.txt", "style.txt"), "Text.\n"
    ),
    **dict.fromkeys(("src/queue.py", "src/app.py", "app.py"), "PORT = 80\n"),
    **dict.fromkeys(("docs/design.md", "docs/table.md"), "| a | b |\n|---|---|\n"),
    "names.txt": "Ada\nGrace\n",
    "key.txt": "sk-a-key-of-nobody\n",
    "patch.diff": "-old\n+new\n",
    "person.json": json.dumps(PERSON),
    ".cursor/mcp.json": '{"mcpServers": {"cursors": {"command": "mcp-server-time"}}}',
}
"""What lies in the reader's project."""
IMAGES = ("photo.jpg", "before.png", "after.png", "map.png")

PROGRAMS = {
    "pip": 'echo "$@"',
    "pass": "echo sk-a-secret-of-nobody",
    "dmesg": 'echo "disk full"',
    "journalctl": 'echo "disk full"',
    "loginctl": 'echo "$@"',
    "notify-send": "exit 0",
    "import": 'cat "$PIXEL"',
    "npx": 'exec "{python}" "{root}/tests/fakes/mcp_server.py" --name files',
    "uvx": 'exec "{python}" "{root}/tests/fakes/mcp_server.py" --name git',
    "curl": 'echo "$@"',
    "llm": 'test "$1" = keys && echo sk-a-key-of-nobody || cat "$LLM_LOGS"',
    "an-editor": 'cat "$WRITTEN" > "$1"',
}
"""Programs of a reader's machine, in so far as `ask` or a page calls them."""
LOGS = [
    {
        "id": f"01jm8ec74wxsdatyn5pq1fp0s{number}",
        "model": "gpt-4o-mini",
        "prompt": f"Question {number}?",
        "system": None,
        "response": f"Answer {number}.",
        "conversation_id": "01jm8ec74taftdgj2t4zra9z0" + "jk"[number // 2],
        "datetime_utc": f"2025-02-16T22:34:3{number}.374882+00:00",
    }
    for number in range(3)
]
"""What `llm logs --json` prints, in so far as anybody reads it."""
WRITTEN = """\
+++
[defaults]
language = "Python"
+++
You read $language well. Look at this: $input
"""
"""What the reader writes in the editor."""


class Model(ChatServer):
    """A model that keeps to a schema, and otherwise talks at once."""

    def take_scripted(self) -> Answer | None:
        """Anything that fits the schema, if there is one."""
        shape = self.requests[-1].get("response_format", {}).get("json_schema")
        said = str(self.requests[-1]["messages"][-1]["content"])
        if shape is not None:
            return chat_answers.say(json.dumps(imagine(shape["schema"])))
        if "Five colours." in said:
            return chat_answers.say('["red", "green", "blue", "black", "white"]')
        if "in a code block" in said:
            return chat_answers.say(chat_answers.CODE_TEXT)
        return super().take_scripted()


def imagine(schema: Mapping[str, Any]) -> Any:
    """A value of a schema's shape."""
    match schema.get("type"):
        case "object":
            return {name: imagine(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [imagine(schema["items"])]
        case "integer":
            return 4
        case "number":
            return 0.5
        case "boolean":
            return True
        case _:
            return "words"


def lay_out(world: World, project: Path) -> None:
    """Write the reader's files and programs, and commit the files but for one change."""
    home, programs = world.home, world.home / "bin"
    systemd = Systemctl(home / "systemd")
    systemd.place()
    (systemd.path / "systemctl").rename(home / "systemd" / "systemctl")
    write_program(programs / "systemctl", f'exec "{home}/systemd/systemctl" "$@"')
    for name, text in PROGRAMS.items():
        filled = text.replace("{python}", sys.executable).replace("{root}", str(ROOT))
        write_program(programs / name, filled)
    (home / "pixel").write_bytes(PIXEL)
    (home / "written").write_text(WRITTEN)
    (home / "llm-logs").write_text(json.dumps(LOGS))
    world.env |= {
        "PATH": os.pathsep.join([str(programs), str(Path(ASK).parent), world.env["PATH"]]),
        "PIXEL": str(home / "pixel"),
        "WRITTEN": str(home / "written"),
        "ROLLOUTS": str(ROOT / "tests" / "data" / "codex-rollouts"),
        "LLM_LOGS": str(home / "llm-logs"),
        "EDITOR": "an-editor",
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    # Where nothing says whose home it is (cron, `env -i`), it must not become the tester's own.
    there = f'ASK_HOME="{world.ask_home}" exec "{ASK}" "$@"'
    for place in (".venv/bin/ask", ".local/bin/ask"):
        write_program(home / place, "export " + there.replace(" exec", "; exec"))
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    for name in IMAGES:
        (project / name).write_bytes(PIXEL)
    if shutil.which("git") is not None:
        commit_all(project)
        (project / "app.py").write_text("PORT = 81\n")


def commit_all(project: Path) -> None:
    """Put the project under git."""
    who = ("-c", "user.name=you", "-c", "user.email=you@here")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=project, check=True, timeout=LIMIT_S)


def write_program(path: Path, text: str) -> None:
    """A program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
