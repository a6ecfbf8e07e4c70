"""What a model may use: values that make sense."""

import pytest
from pydantic import ValidationError

from askd.core.commands import Approval
from askd.settings import ApprovalSettings, ToolSettings


def test_a_directory_to_write_to_does_not_depend_on_where_the_daemon_stands() -> None:
    with pytest.raises(ValidationError, match="cache is no absolute path"):
        ToolSettings(writable=["/a", "cache"])
    assert ToolSettings(writable=["/a"]).writable == ["/a"]


def test_a_rule_is_one_of_three_words() -> None:
    with pytest.raises(ValidationError, match="'deny', 'ask' or 'auto'"):
        ApprovalSettings.model_validate({"commands": {"git": "yes"}})


def test_a_model_is_shown_something_of_an_output() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1024"):
        ToolSettings(output_bytes=10)


@pytest.mark.parametrize(
    ("name", "near"),
    [("run_comand", "; did you mean 'run_command'?"), ("x", ""), ("*_file", "")],
)
def test_a_rule_for_a_tool_that_cannot_be_there_is_refused(name: str, near: str) -> None:
    """It would deny nothing, and say nothing of that."""
    with pytest.raises(ValidationError) as caught:
        ApprovalSettings.model_validate({"tools": {name: "deny"}})
    assert f"there is no tool {name!r}{near}" in str(caught.value)
    said: dict[str, Approval] = {"run_command": "deny", "time__now": "auto", "time__*": "ask"}
    assert ApprovalSettings(tools=said).tools == said, "a server's may come"


def test_what_is_offered_can_be_there() -> None:
    with pytest.raises(ValidationError, match="there is no tool 'raed'"):
        ToolSettings(enabled=["raed"])
    words = ["read", "all", "none", "*_file", "time__now", "time__*", "run_command"]
    assert ToolSettings(enabled=words).enabled == words


@pytest.mark.parametrize("rule", ["git status && ls", "echo 'x'", "$EDITOR", "", "rm *"])
def test_a_rule_that_could_never_be_found_is_refused(rule: str) -> None:
    """Who writes one takes it for a fence."""
    with pytest.raises(ValidationError, match="no command begins with"):
        ApprovalSettings.model_validate({"commands": {rule: "deny"}})
    assert ApprovalSettings(commands={"git status": "auto"}).commands == {"git status": "auto"}
