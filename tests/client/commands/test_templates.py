"""`ask templates`: what there is, one of them, written by hand, gone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ask.commands.templates import EXAMPLE
from ask.templates import READERS, parse_template
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

REVIEW = {
    "name": "review",
    "description": "Look\x1b[31m at it.",
    "arguments": [{"name": "file", "description": "", "required": True}],
}


@pytest.fixture
def templates(home: Path) -> Path:
    """Where templates are."""
    directory = home / "config" / "templates"
    directory.mkdir(parents=True)
    return directory


def edit(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", command)


# ---- list --------------------------------------------------------------------------


def test_without_any_the_way_to_one_is_said_and_no_daemon_is_started(ask: Ask, home: Path) -> None:
    result = ask("templates", "list")
    assert (result.code, result.err) == (0, "")
    assert result.out == "No templates.\nWrite one: ask templates edit NAME\n"
    assert ask("templates", "list", "--json").out == "[]\n"
    assert not (home / "data").exists()


def test_one_that_is_broken_is_listed_with_the_others(ask: Ask, templates: Path) -> None:
    (templates / "a.md").write_text("+++\nmodle = 1\n+++\nx")
    (templates / "b.md").write_text('+++\ndescription = "B."\n+++\nDo $x to\n$input')
    assert ask("templates", "list").out.splitlines() == [
        "a  (broken: ask templates show a)",
        "b  B.",
        "  Do $x to",
        "  -p x=...",
    ]
    broken, whole = json.loads(ask("templates", "list", "--json").out)
    assert "line 2: there is no setting 'modle'" in broken["error"]
    assert whole == {
        "name": "b",
        "source": "file",
        "path": str(templates / "b.md"),
        "description": "B.",
        "first_line": "Do $x to",
        "input": True,
        "parameters": [{"name": "x", "default": None}],
    }


def test_prompts_of_servers_that_run_are_among_them(
    ask: Ask, templates: Path, daemon: FakeDaemon
) -> None:
    daemon.configure("docs", command="x")
    daemon.configure("idle", command="x")
    daemon.how["docs"] = {"state": "ready", "prompts": True}
    daemon.prompts = [REVIEW]
    (templates / "z.md").write_text("Z.")
    result = ask("templates", "list")
    assert result.out.splitlines() == [
        "z            Z.",
        "docs:review  Look at it.",
        "  -p file=...",
    ]
    assert result.err == "Not asked, or not heard of in time: idle (ask mcp prompt NAME)\n"
    assert [params["server"] for params in daemon.called("mcp/prompts")] == ["docs"]
    _, served = json.loads(ask("templates", "list", "--json").out)
    assert (served["name"], served["source"]) == ("docs:review", "server")


def test_a_server_that_fails_costs_its_own_prompts_alone(
    ask: Ask, templates: Path, daemon: FakeDaemon
) -> None:
    daemon.configure("docs", command="x")
    daemon.how["docs"] = {"state": "ready", "prompts": True}
    daemon.refusals["mcp/prompts"] = Refusal("server_failed", "docs has ended.")
    (templates / "z.md").write_text("Z.")
    result = ask("templates", "list")
    assert (result.code, result.out) == (0, "z  Z.\n")
    assert "docs" in result.err


# ---- show --------------------------------------------------------------------------


def test_a_template_is_shown_as_it_is_broken_or_not(ask: Ask, templates: Path) -> None:
    text = "+++\nmodle = 1\n+++\nx $y\n\n"
    (templates / "a.md").write_text(text)
    assert ask("templates", "show", "a").out == text
    assert "modle" in json.loads(ask("templates", "show", "a", "--json").out)["error"]
    assert ask("templates", "show", "b").code == 3


def test_with_parameters_it_is_filled_in_but_for_what_is_asked(ask: Ask, templates: Path) -> None:
    (templates / "a.md").write_text("Do $x: $input ($$)")
    assert ask("templates", "show", "a", "-p", "x=$y").out == "Do $y: $input ($)\n"
    filled = json.loads(ask("templates", "show", "a", "-p", "x=1", "--json").out)
    assert filled == {"name": "a", "source": "file", "text": "Do 1: $input ($)"}
    result = ask("templates", "show", "a", "-p", "z=1")
    assert (result.code, result.err) == (
        2,
        "The template 'a' has no parameter 'z'.\nIt has: x.\n",
    )


def test_a_servers_prompt_is_filled_in_by_the_server(ask: Ask, daemon: FakeDaemon) -> None:
    daemon.configure("docs", command="x")
    daemon.prompts = [REVIEW]
    daemon.messages["review"] = [{"role": "user", "text": "Look at\x1b[2J x."}]
    assert ask("templates", "show", "docs:review", "-p", "file=x").out == "Look at x.\n"
    result = ask("templates", "show", "docs:review")
    assert (result.code, result.err) == (
        2,
        "The prompt 'review' needs file.\nSay it: -p file=...\n",
    )
    assert ask("templates", "show", "docs:other").code == 3


# ---- edit --------------------------------------------------------------------------


def test_the_example_is_a_template_that_names_every_setting() -> None:
    template = parse_template(EXAMPLE, "t")
    assert (template.takes_input, template.parameters) == (True, ())
    assert all(f"# {name} = " in EXAMPLE for name in READERS if name != "defaults")
    # With its lines no longer comments it is one, too, but for what excludes each other.
    lines = [line.removeprefix("# ") for line in EXAMPLE.splitlines() if "What follows" not in line]
    whole = "\n".join(line for line in lines if "extract" not in line) + "\n$language"
    assert parse_template(whole, "t").defaults == {"language": "English"}


def test_a_new_one_begins_with_the_example(
    ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(monkeypatch, "sed -i s/plain/few/")
    path = home / "config" / "templates" / "t.md"
    result = ask("templates", "edit", "t")
    assert (result.code, result.out, result.err) == (0, "", f"Written: {path}\n")
    assert path.read_text() == EXAMPLE.replace("plain", "few")
    edit(monkeypatch, "true")
    assert ask("templates", "edit", "t").err == f"Unchanged: {path}\n"
    edit(monkeypatch, "rm")
    assert ask("templates", "edit", "t").err == f"It is gone: {path}\n"


@pytest.mark.parametrize("command", ["true", "rm"])
def test_one_that_nobody_changed_is_not_kept(
    ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    edit(monkeypatch, command)
    result = ask("templates", "edit", "t")
    assert (result.code, result.err) == (0, "Nothing was written.\n")
    assert list((home / "config" / "templates").iterdir()) == []


def test_a_broken_one_is_kept_and_what_is_wrong_is_said(
    ask: Ask, templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(monkeypatch, "sed -i 's/# model/modle/'")
    result = ask("templates", "edit", "t")
    assert result.code == 2
    assert "line 4: there is no setting 'modle'" in result.err
    assert f"It is kept: {templates / 't.md'}\nGo on: ask templates edit t\n" in result.err
    assert "modle" in (templates / "t.md").read_text()
    edit(monkeypatch, "sed -i s/modle/model/")
    assert ask("templates", "edit", "t").code == 0


def test_an_editor_that_fails_leaves_what_it_wrote(
    ask: Ask, templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(monkeypatch, "false")
    assert ask("templates", "edit", "t").code == 1
    assert list(templates.iterdir()) == []
    script = templates.parent / "editor"
    script.write_text('echo mine > "$1"; exit 3')
    edit(monkeypatch, f"sh {script}")
    assert ask("templates", "edit", "t").code == 1
    assert (templates / "t.md").read_text() == "mine\n"


def test_what_is_no_text_can_be_edited_and_no_directory_can(
    ask: Ask, templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (templates / "t.md").write_bytes(b"\xff")
    edit(monkeypatch, "printf hi >")
    assert ask("templates", "edit", "t").code == 0
    (templates / "d.md").mkdir()
    result = ask("templates", "edit", "d")
    assert (result.code, "is no file" in result.err) == (2, True)
    assert ask("templates", "edit", "../t").code == 2


def test_a_directory_that_cannot_be_made_is_a_sentence(
    ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config").write_text("")
    edit(monkeypatch, "true")
    result = ask("templates", "edit", "t")
    assert (result.code, "cannot be written" in result.err) == (74, True)


def test_without_an_editor_and_a_terminal_nothing_hangs(home: Path) -> None:
    environ = {
        name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR")
    }
    done = subprocess.run(
        [sys.executable, "-m", "ask", "templates", "edit", "t"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environ,
        timeout=20,
        check=False,
    )
    assert (done.returncode, "There is no editor" in done.stderr) == (2, True)
    assert list((home / "config" / "templates").iterdir()) == []


# ---- remove ------------------------------------------------------------------------


def test_a_template_is_removed_by_name(ask: Ask, templates: Path) -> None:
    (templates / "review.md").write_text("x")
    result = ask("templates", "remove", "reviev")
    assert (result.code, result.err) == (
        3,
        "There is no template 'reviev'.\nDid you mean 'review'?\n",
    )
    assert ask("templates", "remove", "review").out == "Removed: review\n"
    assert not (templates / "review.md").exists()


def test_a_link_is_removed_and_what_it_leads_to_is_kept(ask: Ask, templates: Path) -> None:
    (templates.parent / "mine").write_text("x")
    (templates / "a.md").symlink_to(templates.parent / "mine")
    removed = json.loads(ask("templates", "remove", "a", "--json").out)
    assert removed == {"name": "a", "removed": True, "path": str(templates / "a.md")}
    assert (templates.parent / "mine").exists()
    (templates / "gone.md").symlink_to("nowhere")
    assert ask("templates", "remove", "gone").code == 0
    (templates / "d.md").mkdir()
    assert ask("templates", "remove", "d").code == 2
