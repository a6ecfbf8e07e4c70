"""Approvals: which calls of one answer may run, decided for all of them before any does.

Rules and grants decide, and where they leave it to a person, all that has to be
asked is asked at once. Nothing runs here. The same calls are judged again when the
turn comes back with the answers: an answer counts for what was shown and for nothing
else, and a rule that denies by now stands above it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from askd.core.approval import ApprovalRules, Wanted, decide, find_rule
from askd.core.approval_questions import YES, describe_approval
from askd.core.denials import Denial, explain_need, find_cause, read_refusal, tell_denial
from askd.core.events import QuestionAnswered, TurnOptions
from askd.core.grants import ALWAYS, find_grants
from askd.core.items import ToolCall
from askd.core.questions import find_question
from askd.sessions.live import LiveSession
from askd.sessions.needs import Means, Report
from askd.sessions.parking import Matter, ask_all
from askd.tools.base import Preview, Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A call that could be carried out: its output's id, where it would run, what it would do."""

    call: ToolCall
    item_id: str
    site: Site
    preview: Preview

    @property
    def wanted(self) -> Wanted:
        """As far as it counts for a decision."""
        seen = self.preview
        return Wanted(
            tool=self.call.name,
            needs=seen.needs,
            command=seen.command,
            confined=seen.confined,
            grant=seen.grant,
        )

    @property
    def matter(self) -> Matter:
        """What a person would be asked."""
        seen, site = self.preview, self.site
        question = describe_approval(
            tool=self.call.name,
            call_id=self.call.call_id,
            conversation_id=site.conversation_id,
            cwd=site.cwd,
            arguments=self.call.arguments,
            title=seen.title,
            body=seen.body,
            grant=seen.grant,
            confined=seen.confined,
            confinement=seen.confinement,
        )
        return Matter(
            kind="approval",
            subject=self.item_id,
            text=question.text,
            choices=question.choices,
            more=question.more,
        )


class ApprovalNeeded(Exception):
    """A person was to decide, and there is nobody: the turn cannot go on.

    The message is a sentence for people. `unasked`: the calls' items.
    """

    def __init__(self, sentence: str, unasked: frozenset[str]) -> None:
        super().__init__(sentence)
        self.unasked = unasked


async def find_denials(
    session: LiveSession,
    turn_id: str,
    looks: Sequence[Look],
    *,
    options: TurnOptions,
    means: Means,
    report: Report,
    is_stored: bool,
) -> Mapping[str, Denial]:
    """The calls that may not run, by the ids of their items; all others may.

    Args:
        is_stored: nothing can be asked where the turn is not stored, and nothing written.

    Raises:
        ApprovalNeeded: somebody said that a person decides, and none is there.
        Parked: it has been asked, and is not all answered yet.
        StorageFailed: the questions could not be stored.
    """
    judging = _Judging(session, turn_id, options, means.approval(), is_stored=is_stored)
    for look in looks:
        judging.judge(look)
    judging.check_somebody()
    asked = judging.asked
    if asked:
        answers = await ask_all(
            session,
            turn_id,
            [look.matter for look in asked],
            is_detached=options.detach,
            now=means.now,
        )
        for look, answer in zip(asked, answers, strict=True):
            judging.hear(look, answer)
    for look in looks:
        denial = judging.denials.get(look.item_id)
        if denial is None:
            continue
        line = tell_denial(look.call.name, look.preview.title, denial)
        if line is not None:
            report("tool", line)
    return judging.denials


class _Judging:
    """What is known so far of the calls of one answer."""

    def __init__(
        self,
        session: LiveSession,
        turn_id: str,
        options: TurnOptions,
        rules: ApprovalRules,
        *,
        is_stored: bool,
    ) -> None:
        self.asked: list[Look] = []
        self.denials: dict[str, Denial] = {}
        self._record = session.conversation.turns[turn_id]
        self._grants = find_grants(session.conversation)
        self._options = options
        self._rules = rules
        self._attended = session.hub.attended
        self._is_stored = is_stored

    def judge(self, look: Look) -> None:
        """Decide on one call, as far as that can be done without a person."""
        denial = self._find_denial(look)
        if denial is not None:
            self.denials[look.item_id] = denial

    def _find_denial(self, look: Look) -> Denial | None:
        """Why it may not run; None: it may, or a person says so."""
        if not self._is_stored and look.preview.writes is not None:
            return Denial("storage")
        question = find_question(self._record, "approval", look.item_id)
        if question is not None:
            if find_rule(look.wanted, self._rules) == "deny":
                return Denial("settings")
            if question.digest != look.matter.digest:
                return Denial("changed")
            if not self._is_stored and question.question_id not in self._record.answers:
                return Denial("storage")
            self.asked.append(look)
            return None
        said = self._options.approve
        match decide(
            look.wanted, self._rules, said=said, grants=self._grants, attended=self._attended
        ):
            case "deny":
                return Denial(find_cause(look.wanted, self._rules, said=said))
            case "ask" if not self._is_stored:
                return Denial("storage")
            case "ask":
                self.asked.append(look)
            case "auto":
                pass
        return None

    def check_somebody(self) -> None:
        """Raise `ApprovalNeeded` if there is something to ask that is not asked yet, and nobody."""
        if self._attended or self._options.detach:
            return
        new = [
            each
            for each in self.asked
            if find_question(self._record, "approval", each.item_id) is None
        ]
        if new:
            sentence = explain_need(new[0].call.name, new[0].preview.title)
            raise ApprovalNeeded(sentence, frozenset(each.item_id for each in new))

    def hear(self, look: Look, answer: QuestionAnswered) -> None:
        """A person has decided on it, or nobody in time."""
        if answer.decision not in (YES, ALWAYS):
            self.denials[look.item_id] = read_refusal(answer)
