"""Decisions: the whole table, and what holds in every row of it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from askd.core.approval import (
    Approval,
    ApprovalRules,
    Grant,
    Wanted,
    decide,
    find_rule,
    find_tool_rule,
)

GRANT = Grant(tool="run_command", cwd="/w", only="git push", label="git push")
SAID: tuple[Approval | None, ...] = (None, "deny", "ask", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All that a decision depends on."""

    needs: Approval
    rule: Approval | None
    said: Approval | None
    policy: Approval | None
    confined: bool
    granted: bool
    attended: bool

    @property
    def wanted(self) -> Wanted:
        """The call."""
        return Wanted(
            tool="run_command",
            needs=self.needs,
            command="git push origin",
            confined=self.confined,
            grant=GRANT,
        )

    @property
    def rules(self) -> ApprovalRules:
        """The settings."""
        commands: dict[str, Approval] = {} if self.rule is None else {"git push": self.rule}
        return ApprovalRules(policy=self.policy, commands=commands)

    @property
    def decision(self) -> Approval:
        """What is decided."""
        return decide(
            self.wanted,
            self.rules,
            said=self.said,
            grants=[GRANT] if self.granted else [],
            attended=self.attended,
        )

    @property
    def is_asked_for(self) -> bool:
        """Whether somebody said that a person decides."""
        rule = find_rule(self.wanted, self.rules)
        return self.said == "ask" or (self.said is None and "ask" in (rule, self.policy))


def rows() -> Iterator[Row]:
    both = (True, False)
    for needs, rule, said, policy, confined, granted, attended in itertools.product(
        ("auto", "ask"), SAID, SAID, SAID, both, both, both
    ):
        yield Row(
            needs=needs,  # type: ignore[arg-type]  # product loses the literals of its first
            rule=rule,
            said=said,
            policy=policy,
            confined=confined,
            granted=granted,
            attended=attended,
        )


ALL = list(rows())


def test_that_the_table_is_whole() -> None:
    assert len(ALL) == 2 * 4 * 4 * 4 * 2 * 2 * 2


TABLE = """
needs rule said policy | here away
auto  -    -    -      | auto auto
auto  -    -    deny   | auto auto
auto  -    -    ask    | auto auto
auto  -    deny -      | auto auto
auto  -    ask  -      | auto auto
auto  ask  -    -      | ask  ask
auto  ask  -    auto   | ask  ask
auto  ask  -    deny   | ask  ask
auto  ask  auto -      | auto auto
auto  ask  deny -      | deny deny
ask   -    -    -      | ask  deny
ask   -    -    deny   | deny deny
ask   -    -    ask    | ask  ask
ask   -    -    auto   | auto auto
ask   -    deny auto   | deny deny
ask   -    ask  auto   | ask  ask
ask   -    ask  deny   | ask  ask
ask   -    auto deny   | auto auto
ask   auto -    -      | auto auto
ask   auto -    deny   | auto auto
ask   auto -    ask    | auto auto
ask   auto deny -      | deny deny
ask   auto ask  -      | ask  ask
ask   auto auto deny   | auto auto
ask   ask  -    auto   | ask  ask
ask   ask  auto -      | auto auto
ask   ask  deny -      | deny deny
auto  deny auto auto   | deny deny
ask   deny ask  -      | deny deny
"""
"""What is confined and not granted, at a terminal and away from it; `-`: nothing is said."""


@pytest.mark.parametrize("line", TABLE.strip().splitlines()[1:])
def test_what_becomes_of_a_call(line: str) -> None:
    cells = [None if cell == "-" else cell for cell in line.replace("|", "").split()]
    needs, rule, said, policy, here, away = cells

    found = {
        row.attended: row.decision
        for row in ALL
        if (row.needs, row.rule, row.said, row.policy) == (needs, rule, said, policy)
        and row.confined
        and not row.granted
    }

    assert found == {True: here, False: away}


def test_that_a_rule_which_denies_stands_above_everything() -> None:
    assert {row.decision for row in ALL if row.rule == "deny"} == {"deny"}


def test_that_what_is_not_confined_never_runs_unasked() -> None:
    assert {row.decision for row in ALL if not row.confined} == {"ask", "deny"}


def test_that_what_is_not_confined_is_asked_about_where_nobody_forbids_it() -> None:
    for row in ALL:
        if row.confined or row.rule == "deny" or not row.attended:
            continue
        policy = row.said or (None if row.rule == "ask" else row.policy)
        assert row.decision == ("deny" if policy == "deny" else "ask"), row


def test_that_nobody_is_asked_who_is_not_there_unless_somebody_said_so() -> None:
    asked = [row for row in ALL if not row.attended and row.decision == "ask"]

    assert asked
    assert all(row.is_asked_for for row in asked)


def test_that_a_terminal_never_makes_of_a_refusal_a_run() -> None:
    """It only makes questions of refusals."""
    for here, away in zip(
        (row for row in ALL if row.attended), (row for row in ALL if not row.attended), strict=True
    ):
        assert here.decision == away.decision or (here.decision, away.decision) == ("ask", "deny")


def test_that_a_grant_only_spares_a_question_or_a_refusal_for_want_of_somebody() -> None:
    for granted, plain in zip(
        (row for row in ALL if row.granted), (row for row in ALL if not row.granted), strict=True
    ):
        if granted.decision == plain.decision:
            continue
        assert granted.decision == "auto"
        assert granted.confined
        assert granted.rule != "deny"
        assert granted.said != "deny"
        assert granted.said is not None or granted.rule == "ask" or granted.policy != "deny"


def test_that_a_grant_holds_where_somebody_would_be_asked() -> None:
    asked = [row for row in ALL if row.confined and row.granted and row.needs == "ask"]

    assert all(row.decision != "ask" for row in asked)


def test_that_a_grant_is_for_one_tool_one_directory_and_one_command() -> None:
    others = [
        Grant(tool="write_file", cwd="/w", only="git push"),
        Grant(tool="run_command", cwd="/", only="git push"),
        Grant(tool="run_command", cwd=None, only="git push"),
        Grant(tool="run_command", cwd="/w", only="git"),
        Grant(tool="run_command", cwd="/w"),
    ]
    wanted = Wanted(tool="run_command", needs="ask", command="git push", grant=GRANT)

    def ask(grants: list[Grant]) -> Approval:
        return decide(wanted, ApprovalRules(), said=None, grants=grants, attended=True)

    assert ask(others) == "ask"
    assert ask([*others, Grant(tool="run_command", cwd="/w", only="git push")]) == "auto"


def test_that_a_call_which_offers_no_grant_is_covered_by_none() -> None:
    wanted = Wanted(tool="run_command", needs="ask", command="rm x")

    assert decide(wanted, ApprovalRules(), said=None, grants=[GRANT], attended=True) == "ask"


def test_that_a_rule_for_a_command_stands_before_the_one_for_its_tool() -> None:
    rules = ApprovalRules(
        tools={"run_command": "deny"}, commands={"git status": "auto", "git": "ask"}
    )

    def rule(command: str | None, tool: str = "run_command") -> Approval | None:
        return find_rule(Wanted(tool=tool, needs="ask", command=command), rules)

    assert rule("git status -s") == "auto"
    assert rule("git push") == "ask"
    assert rule("ls") == "deny"
    assert rule(None) == "deny"
    assert rule(None, "read_file") is None


def test_that_a_rule_of_a_tool_does_not_spare_what_a_command_denies() -> None:
    rules = ApprovalRules(tools={"run_command": "auto"}, commands={"rm": "deny"})
    wanted = Wanted(tool="run_command", needs="ask", command="echo $(rm -rf .)")

    assert decide(wanted, rules, said="auto", grants=[], attended=True) == "deny"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, None),
        ({"time__*": "auto"}, "auto"),
        ({"*__*": "ask"}, "ask"),
        ({"time__*": "ask", "time__now": "auto"}, "auto"),
        ({"time__now": "ask", "time__*": "auto"}, "ask"),
        ({"time__*": "deny", "time__now": "auto"}, "deny"),
        ({"time__now": "deny", "time__*": "auto"}, "deny"),
        ({"time__*": "auto", "time__n*": "ask", "*__now": "auto"}, "ask"),
        ({"time__n??": "auto"}, "auto"),
        ({"time": "auto", "time__later": "auto", "clock__*": "deny"}, None),
    ],
)
def test_a_rule_may_be_for_many_tools_of_servers(
    rules: dict[str, Approval], said: Approval | None
) -> None:
    assert find_tool_rule("time__now", rules) == said
    assert find_tool_rule("time__now", dict(reversed(rules.items()))) == said
    wanted = Wanted(tool="time__now", needs="ask")
    assert find_rule(wanted, ApprovalRules(tools=rules)) == said
    assert decide(wanted, ApprovalRules(tools=rules), said=None, grants=[], attended=False) == (
        "auto" if said == "auto" else "ask" if said == "ask" else "deny"
    )


@pytest.mark.parametrize("pattern", ["*", "run_*", "*_command", "*__*"])
def test_a_pattern_never_means_one_of_the_houses_own(pattern: str) -> None:
    assert find_tool_rule("run_command", {pattern: "auto"}) is None
