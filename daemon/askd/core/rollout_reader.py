"""Reads the records of a rollout, of any version of Codex, into the draft of a conversation.

Lenient by rule: a record of an unknown type, or with unknown fields, is passed
over without a word; one of a known type that has not its shape is told and
passed over. What a model saw is in `response_item` records; `event_msg` records
only say how turns went. Calls and outputs are taken as they stand: what is wrong
with them is healed in each request, never in the log.

The rules are those by which Codex itself resumes (its 0.63, 0.98 and 0.169 were
observed): the first `session_meta` counts, a `compacted` record stands for all
before it, `thread_rolled_back` takes the last turns back, a turn begins with a
user's message. A record `{timestamp, items, metadata}` is one whole turn.
"""

from dataclasses import replace
from typing import Any

from askd.core import rollout_items as theirs
from askd.core.drafts import Draft, DraftStray, DraftSummary, DraftTurn
from askd.core.items import AssistantMessage, Item, Part, Text, ToolOutput
from askd.core.outcome import Usage
from askd.core.records import Json
from askd.core.rollout_items import as_text
from askd.core.rollout_lines import read_time

COUNT_LIMIT = 10**12
"""Tokens that one file can claim: no model comes near."""
READ_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


class BadShape(ValueError):
    """A record of a known type that has not its shape; a few words."""


class RolloutReader:
    """Takes records in order; `draft` is what they have told so far.

    Attributes:
        source_id: the id that the conversation had, once the file has said it.
        items: how many items were read.
        blobs: the contents of images, by their SHA-256.
    """

    def __init__(self, *, at: float) -> None:
        self.draft = Draft()
        self.source_id: str | None = None
        self.items = 0
        self.blobs: dict[str, bytes] = {}
        self._at = at  # until a record says when
        self._meta: dict[str, Json] | None = None
        self._provider: str | None = None
        self._model: str | None = None
        self._cwd: str | None = None
        self._turn: DraftTurn | None = None
        self._answer: AssistantMessage | None = None
        self._answered_at = at
        self._names: dict[str, str] = {}
        self._total = Usage()
        self._base = Usage()

    def take(self, record: dict[str, Json]) -> None:
        """The next record; raise `BadShape` for one that cannot be what it says."""
        self._at = read_time(record.get("timestamp")) or self._at
        kind, payload = record.get("type"), record.get("payload")
        if kind is None and isinstance(record.get("items"), list):
            self._take_whole_turn(record)
            return
        if kind not in READ_TYPES:
            return  # world_state, token_usage_record, and what the future brings
        if not isinstance(payload, dict):
            raise BadShape(f"{kind}: its payload is no object")
        match kind:
            case "session_meta":
                self._take_meta(payload)
            case "turn_context":
                self._model = self._name_model(payload) or self._model
                self._cwd = as_text(payload.get("cwd")) or self._cwd
                if self._turn is not None and self._turn.model is None:
                    self._turn.model = self._model
            case "response_item":
                self._take_item(payload)
            case "event_msg":
                self._take_event(payload)
            case "compacted":
                self._take_compacted(payload)
            case _:
                pass

    def finish(self) -> Draft:
        """The draft, when there is nothing more to take."""
        self._close_turn()
        return self.draft

    # ---- what surrounds the items -----------------------------------------------

    def _take_meta(self, payload: dict[str, Json]) -> None:
        if self._meta is not None:
            return  # a fork copies the records of its source, that one's too
        self._meta = payload
        self.source_id = as_text(payload.get("id")) or None
        self._provider = as_text(payload.get("model_provider")) or None
        self._cwd = as_text(payload.get("cwd")) or None

    def _name_model(self, payload: dict[str, Json]) -> str | None:
        model = as_text(payload.get("model"))
        if not model or "/" in model:
            return model or None
        return f"{self._provider or 'unknown'}/{model}"

    def _take_event(self, payload: dict[str, Json]) -> None:
        match payload.get("type"):
            case "token_count":
                self._take_usage(payload.get("info"))
            case "turn_aborted" if self._turn is not None:
                self._turn.aborted = True
            case "task_complete" if self._turn is not None:
                error = payload.get("error")
                if isinstance(error, dict):
                    self._turn.failed = as_text(error.get("message")) or "The turn failed."
            case "thread_rolled_back":
                count = payload.get("num_turns")
                if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                    raise BadShape("thread_rolled_back: num_turns is no number of turns")
                self._close_turn()
                self.draft.take_back(count)
            case _:
                pass

    def _take_usage(self, info: Json) -> None:
        total = info.get("total_token_usage") if isinstance(info, dict) else None
        if isinstance(total, dict):
            self._total = read_usage(total)

    def _take_compacted(self, payload: dict[str, Json]) -> None:
        self._close_turn()
        history = payload.get("replacement_history")
        items = (
            [each for each in history if isinstance(each, dict)]
            if isinstance(history, list)
            else []
        )
        text = as_text(payload.get("message")) or self._find_summary(items)
        self.items += bool(text)
        is_known = any(isinstance(entry, DraftTurn) for entry in self.draft.entries)
        kept = self._find_kept(items) if isinstance(history, list) and is_known else None
        self.draft.entries.append(DraftSummary(self._at, text or None, kept))
        if is_known:
            return  # the log has what the replacement was made of
        for each in items:
            if theirs.is_summary(theirs.read_parts(each.get("content"), {})):
                continue
            self._take_item(each)
        self._close_turn()

    def _find_kept(self, items: list[dict[str, Json]]) -> tuple[tuple[Part, ...], ...]:
        """The users' messages of a history that replaces, without the summary."""
        found = []
        for each in items:
            if each.get("type") != "message":
                continue
            parts = theirs.read_parts(each.get("content"), self.blobs)
            if parts and not theirs.is_context(each, parts) and not theirs.is_summary(parts):
                found.append(parts)
        return tuple(found)

    def _find_summary(self, items: list[dict[str, Json]]) -> str:
        for each in reversed(items):
            parts = theirs.read_parts(each.get("content"), {})
            if theirs.is_summary(parts):
                return "".join(part.text for part in parts if isinstance(part, Text))
        return ""

    # ---- items ------------------------------------------------------------------

    def _take_item(self, item: dict[str, Json]) -> None:
        kind = item.get("type")
        if not isinstance(kind, str):
            raise BadShape("response_item: it does not say what it is")
        self.items += 1
        match kind:
            case "message":
                self._take_message(item)
            case "reasoning":
                self._think(item)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._call(item)
            case "function_call_output" | "custom_tool_call_output":
                self._add(self._read_output(item))
            case "ghost_snapshot":
                found = theirs.read_snapshot(item, worktree=self._cwd or "", at=self._at)
                self._add(found or theirs.keep_foreign(item))
            case _:
                self._add(theirs.keep_foreign(item))

    def _take_message(self, item: dict[str, Json]) -> None:
        parts = theirs.read_parts(item.get("content"), self.blobs)
        if item.get("role") == "assistant":
            if self._answer is not None and (self._answer.parts or self._answer.calls):
                self._flush()
            answer = self._begin_answer()
            self._answer = replace(answer, parts=parts)
        elif theirs.is_context(item, parts):
            self._keep_context(theirs.keep_foreign(item))
        else:
            self._close_turn()
            self._open_turn(parts)

    def _think(self, item: dict[str, Json]) -> None:
        if self._answer is not None and (self._answer.parts or self._answer.calls):
            self._flush()
        answer = self._begin_answer()
        thoughts = (*answer.reasoning, theirs.read_reasoning(item))
        self._answer = replace(answer, reasoning=thoughts)

    def _call(self, item: dict[str, Json]) -> None:
        call = theirs.read_call(item)
        assert call is not None
        answer = self._begin_answer()
        self._names[call.call_id] = call.name
        self._answer = replace(answer, calls=(*answer.calls, call))

    def _read_output(self, item: dict[str, Json]) -> ToolOutput:
        call_id = as_text(item.get("call_id"))
        output = item.get("output")
        if isinstance(output, dict):
            output = output.get("content", output.get("output"))  # some versions nest it
        parts = theirs.read_parts(output, self.blobs)
        return ToolOutput("", call_id, self._names.get(call_id, ""), parts)

    # ---- turns ------------------------------------------------------------------

    def _open_turn(self, prompt: tuple[Any, ...]) -> DraftTurn:
        turn = DraftTurn(at=self._at, prompt=prompt, cwd=self._cwd, model=self._model)
        self._turn = turn
        self.draft.entries.append(turn)
        return turn

    def _close_turn(self) -> None:
        self._flush()
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.usage = subtract_usage(self._total, self._base)
        self._base = self._total

    def _begin_answer(self) -> AssistantMessage:
        """The answer that is being put together."""
        if self._answer is None:
            # Without a provider: its sealed thoughts belong to another account than ours.
            self._answer = AssistantMessage("", model=self._model)
            self._answered_at = self._at
        return self._answer

    def _flush(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            turn = self._turn or self._open_turn(())
            turn.said.append((self._answered_at, answer))

    def _add(self, item: Item) -> None:
        self._flush()
        turn = self._turn or self._open_turn(())
        turn.said.append((self._at, item))

    def _keep_context(self, item: Item) -> None:
        self._flush()
        if self._turn is None:
            self.draft.entries.append(DraftStray(self._at, item))
        else:
            self._turn.said.append((self._at, item))

    # ---- a turn in one record ----------------------------------------------------

    def _take_whole_turn(self, record: dict[str, Json]) -> None:
        metadata = record.get("metadata")
        said = metadata if isinstance(metadata, dict) else {}
        provider = as_text(said.get("provider")) or as_text(said.get("model_provider"))
        self._provider = provider or self._provider
        self._model = self._name_model(said) or self._model
        self._cwd = as_text(said.get("cwd")) or self._cwd
        self._close_turn()
        before = self.items
        for each in record["items"]:
            if isinstance(each, dict):
                for item in theirs.read_chat_message(each):
                    self._take_whole_item(item)
        if self.items == before:
            raise BadShape("items: there is none among them that can be read")
        usage = said.get("usage")
        if isinstance(usage, dict):
            self._total = self._total + read_usage(usage)
        self._close_turn()

    def _take_whole_item(self, item: dict[str, Json]) -> None:
        if item.get("type") == "message" and item.get("role") == "system":
            parts = theirs.read_parts(item.get("content"), self.blobs)
            text = "".join(part.text for part in parts if isinstance(part, Text))
            self.items += 1
            if self.draft.system is None and text:
                self.draft.system, self.draft.system_at = text, self._at
        elif isinstance(item.get("type"), str):
            self._take_item(item)


def read_usage(counts: dict[str, Json]) -> Usage:
    """Tokens, under the names of the Responses API, of its totals, or of the Chat API."""
    details = counts.get("input_tokens_details")
    inner = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        _count(counts, "input_tokens", "prompt_tokens"),
        _count(counts, "output_tokens", "completion_tokens"),
        _count({**counts, "cached_inner": inner}, "cached_input_tokens", "cached_inner"),
        _count(counts, "reasoning_output_tokens", "reasoning_tokens"),
    )


def _count(counts: dict[str, Json], *names: str) -> int:
    for name in names:
        value = counts.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_LIMIT:
            return value
    return 0


def subtract_usage(total: Usage, base: Usage) -> Usage | None:
    """What came between two totals; None: nothing, or the second began anew."""
    spent = Usage(
        total.input_tokens - base.input_tokens,
        total.output_tokens - base.output_tokens,
        total.cached_tokens - base.cached_tokens,
        total.reasoning_tokens - base.reasoning_tokens,
    )
    counts = (spent.input_tokens, spent.output_tokens, spent.cached_tokens, spent.reasoning_tokens)
    return spent if any(counts) and min(counts) >= 0 else None
