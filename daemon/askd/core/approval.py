"""Approval: whether a call may run, has to be asked about, or is refused.

Pure rules over values. A rule of the settings says it for a tool or for the beginning
of a command, a policy says what becomes of a call that needs a person's word, and what
a person has allowed once and for all in a conversation is a grant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from askd.core.commands import Approval as Approval
from askd.core.commands import find_command_rule

OF_SERVERS = "__"
"""What the name of a server's tool holds: between its server's name and its own."""
STRICTEST_FIRST: tuple[Approval, ...] = ("deny", "ask", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRules:
    """`[approval]`.

    Attributes:
        policy: what becomes of a call that needs a person's word; None: not said.
        tools: by the tool's name, or by a pattern that names of tools of servers fit: `time__*`.
        commands: by the first words of a command, `git status`; the longest that fits counts.
    """

    policy: Approval | None = None
    tools: Mapping[str, Approval] = field(default_factory=dict)
    commands: Mapping[str, Approval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What "always in this conversation" covers: a tool, in one directory.

    Attributes:
        only: of the tool's calls, those for this: the first words of a command, a host;
            empty: all of them.
        label: the same for people, after "always": `git diff`, `writing files here`.
    """

    tool: str
    cwd: str | None
    only: str = ""
    label: str = ""

    def covers(self, other: "Grant") -> bool:
        """Whether what was allowed is what is wanted; the label does not count."""
        return (self.tool, self.cwd, self.only) == (other.tool, other.cwd, other.only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One call, as far as it counts for a decision.

    Attributes:
        needs: what the tool itself says where no rule does: `auto` or `ask`.
        command: the shell's line that it runs, for rules about commands.
        confined: it can do no more than it says.
    """

    tool: str
    needs: Approval
    command: str | None = None
    confined: bool = True
    grant: Grant | None = None


def decide(
    wanted: Wanted,
    rules: ApprovalRules,
    *,
    said: Approval | None,
    grants: Sequence[Grant],
    attended: bool,
) -> Approval:
    """What is to be done with a call; `ask` without a person only where somebody said so.

    A rule that denies stands above everything. What is said with the prompt stands above the
    other rules, and a rule above the policy: where `ask` or `deny` is said, a rule does not spare
    a call what the tool itself needs. What is not confined never runs unasked.

    Args:
        said: with the prompt.
        grants: what was allowed for good in this conversation: words that were given already,
            so that nobody has to be there for them.
        attended: a person is there: what nobody has said anything about is asked then.
    """
    rule = find_rule(wanted, rules)
    if rule == "deny":
        return "deny"
    if not _needs_word(wanted, rule, said):
        return "auto"
    policy = said or (rule if rule == "ask" else rules.policy)
    if policy == "deny":
        return "deny"
    granted = wanted.grant is not None and any(each.covers(wanted.grant) for each in grants)
    if wanted.confined and (policy == "auto" or granted):
        return "auto"
    return "ask" if attended or policy == "ask" else "deny"


def _needs_word(wanted: Wanted, rule: Approval | None, said: Approval | None) -> bool:
    if not wanted.confined or rule == "ask":
        return True
    spared = rule == "auto" and said in (None, "auto")
    return wanted.needs != "auto" and not spared


def find_rule(wanted: Wanted, rules: ApprovalRules) -> Approval | None:
    """What the settings say of this call in particular; a command's rule before its tool's."""
    rule = None
    if wanted.command is not None:
        rule = find_command_rule(wanted.command, rules.commands)
    return rule or find_tool_rule(wanted.tool, rules.tools)


def find_tool_rule(name: str, rules: Mapping[str, Approval]) -> Approval | None:
    """What the settings say of a tool: `deny`, else what its name says, else the strictest."""
    exact = rules.get(name)
    fitting = {rule for pattern, rule in rules.items() if _fits(name, pattern)}
    if exact is not None and "deny" not in fitting:
        return exact
    return next((each for each in STRICTEST_FIRST if each in fitting), None)


def _fits(name: str, pattern: str) -> bool:
    # Of servers' tools alone: the house's own are few, and a rule for many is soon too wide.
    return OF_SERVERS in name and fnmatchcase(name, pattern)
