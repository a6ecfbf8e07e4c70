"""Instructions are read by the settings of now, and hold no key that the log must not hold."""

from collections.abc import Callable
from pathlib import Path

from askd.project_instructions import ProjectInstructions
from askd.sessions.rules import InstructionRules
from askd.store.scrub.redacting import Hide
from tests.fakes.workspaces import stand_in

KEY = "sk-abcdefgh12345678"


def make(
    rules: Callable[[], InstructionRules] = InstructionRules, hide: Hide | None = None
) -> ProjectInstructions:
    return ProjectInstructions(rules, own=lambda: (), find_hide=lambda: hide)


def test_the_rules_are_those_of_now() -> None:
    rules = [InstructionRules()]
    source = make(lambda: rules[-1])
    assert source.find_rules() == InstructionRules()
    rules.append(InstructionRules(enabled=False, files=("X.md",)))
    assert source.find_rules() == rules[-1]


async def test_what_is_known_is_hidden_in_what_is_read(tmp_path: Path) -> None:
    directory = tmp_path / KEY
    directory.mkdir()
    (directory / "AGENTS.md").write_text(f"Use {KEY}.")
    site = stand_in(directory)
    (plain,) = (await make().read(site, ("AGENTS.md",))).files
    assert (plain.path, plain.text) == (f"{directory}/AGENTS.md", f"Use {KEY}.")
    hiding = make(hide=lambda text: text.replace(KEY, "***"))
    (hidden,) = (await hiding.read(site, ("AGENTS.md",))).files
    assert (hidden.path, hidden.text) == (f"{tmp_path}/***/AGENTS.md", "Use ***.")
    assert (await hiding.read(site, ("NONE.md",))).files == ()
