"""The rules of `[context]`, `[tools]` and `[instructions]` as the sessions take them.

Plain values: where they are read from is not known here, and nothing is decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from askd.core.bounds import Bounds, find_bounds
from askd.providers.base import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Of one model, as shares of its window; None: as for every other."""

    compaction: float | None = None
    prune: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRules:
    """What is done before a conversation fills its model's window.

    Attributes:
        compaction: old turns are summarised by themselves.
        model: who summarises; None: the conversation's own.
        summary_tokens, user_tokens: of a summary; of messages that stay word for word.
        min_turns: that pruning never touches.
        max_messages: that a request may hold; None: any number.
        by_model: thresholds of single models, by `provider/model`.
    """

    compaction: bool = True
    model: str | None = None
    compaction_threshold: float = 0.8
    prune_threshold: float = 0.9
    summary_tokens: int = 500
    user_tokens: int = 20_000
    min_turns: int = 2
    max_messages: int | None = None
    by_model: Mapping[str, Thresholds] = field(default_factory=dict)

    def bounds(self, model: Model) -> Bounds:
        """What a conversation may take with this model."""
        own = self.by_model.get(model.name, Thresholds())
        return find_bounds(
            model.limits.context_window,
            model.limits.budget,
            compaction_threshold=own.compaction or self.compaction_threshold,
            prune_threshold=own.prune or self.prune_threshold,
            user_tokens=self.user_tokens,
            summary_tokens=self.summary_tokens,
            min_turns=self.min_turns,
            max_messages=self.max_messages,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """What tools are offered and how often they are run.

    Attributes:
        enabled: what is offered where nobody says which: names, patterns and groups.
        max_completions: in one turn.
        max_repeats: of the same call with the same arguments in a row.
        output_bytes: of one output that a model is shown.
        snapshots: the files of a workspace are recorded before a turn first writes there.
    """

    enabled: tuple[str, ...] = ("all",)
    max_completions: int = 50
    max_repeats: int = 3
    output_bytes: int = 32_768
    snapshots: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionRules:
    """Whether turns get the instructions of the caller's project, where nobody says.

    Attributes:
        files: paths below a directory; the first that there is counts.
    """

    enabled: bool = True
    files: tuple[str, ...] = ("AGENTS.md",)
