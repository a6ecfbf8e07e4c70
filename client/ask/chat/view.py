"""What a chat shows of its conversation: pieces for above, once each, and what is live below.

Pure: news in (`ask.feed`), and what the chat itself does; out come pieces that are finished,
the text that still grows, the prompts that wait, and what is being done. A prompt appears
above when its turn begins, so that it never breaks into another answer. What a model said is
still a model's: whoever shows it takes out what a terminal would obey.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ask.activity import Activity, fit_line
from ask.exits import CUT
from ask.feed import Map, News
from ask.markdown.blocks import Block, Splitter
from ask.reveal import shorten_line
from ask.scene import PROMPT_MARK, describe_attached, describe_change, lay_out_prompt
from ask.transcript import Message, describe_blob, find_stand_in, read_content, read_item

OTHER_MARK = "(from another terminal)"
INTERRUPTED = "(interrupted)"
Kind = Literal["prompt", "block", "line", "notice", "failure", "own"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that is finished; `block`: of an answer, `text` is empty then."""

    kind: Kind
    text: str = ""
    block: Block | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prompt that was accepted and whose turn has not begun."""

    turn_id: str
    words: str
    is_own: bool


@dataclass(slots=True)
class View:
    """One conversation, as one chat shows it.

    Attributes:
        queue: the prompts that wait, the next one first; what waits to join the turn that runs
            stands before them, by its own id.
        running: the turn that is being answered; `is_own`: this chat asked for it.
        doing: what takes time, in words; empty: nothing does, or the answer shows it.
        thought: what the model thinks aloud and has not said anything after.
        model: who answered last.
        columns: that a line may take; None: all that it needs.
    """

    columns: int | None = None
    queue: list[Waiting] = field(default_factory=list)
    running: str | None = None
    is_own: bool = False
    doing: str = ""
    thought: str = ""
    model: str | None = None
    ended: int = 0
    _pieces: list[Piece] = field(default_factory=list)
    _prompts: dict[str, Map] = field(default_factory=dict)
    _keys: set[str] = field(default_factory=set)
    _notices: list[str] = field(default_factory=list)
    _steering: dict[str, bool] = field(default_factory=dict)  # by item; whether it is our own
    _changes: int = 0
    _splitter: Splitter = field(default_factory=Splitter)
    _said: dict[str, str] = field(default_factory=dict)  # by the item that still grows
    _activity: Activity = field(default_factory=Activity)
    _stopped: bool = False  # that the turn was interrupted was said
    _recalls: bool = False

    # ---- what the chat does --------------------------------------------------------

    def expect_prompt(self, key: str) -> None:
        """The prompt of this key is the chat's own."""
        self._keys.add(key)

    def expect_notice(self, text: str) -> None:
        """The next notice of these words is the chat's own, and was shown."""
        self._notices.append(text)

    def expect_change(self) -> None:
        """The next change of the view is the chat's own, and was shown."""
        self._changes += 1

    def take_pieces(self) -> list[Piece]:
        """What is to be shown above, and was not yet."""
        found, self._pieces = self._pieces, []
        return found

    @property
    def tail(self) -> str:
        """What of the answer is not finished yet."""
        return self._splitter.tail

    def break_tail(self) -> None:
        """Something else is to be shown now: what was said so far comes before it."""
        self._add_blocks(self._splitter.cut())

    def recall(self, event: Map, *, shown: bool) -> bool:
        """Take in an event of what is over; whether there is anything to see in it.

        Who asked then is not said any more. `shown`: what is seen is among the next pieces.
        """
        pieces, self._pieces, self._recalls = self._pieces, [], True
        self._take_event(event)
        found, self._pieces, self._recalls = self._pieces, pieces, False
        if shown:
            self._pieces += found
        return bool(found)

    # ---- what the daemon says ------------------------------------------------------

    def take(self, news: News) -> None:
        """Take in the next piece of news."""
        fields = news.fields
        match news.method:
            case "event":
                self._take_event(fields)
            case "delta":
                self._take_delta(fields)
            case "turn_unsaved":
                self._fail(f"Failed to save turn: {fields.get('reason', '')}")
                self._end_turn(str(fields.get("turn_id")))
            case "progress":
                self._take_progress(fields)
            case "compaction":
                self._note(str(fields.get("text", "")))
            case _:
                pass

    def _take_progress(self, fields: Map) -> None:
        text = shorten_line(str(fields.get("text", "")), None)
        if fields.get("kind") in ("model_loading", "waiting", "tool", "retrying"):
            self.doing = text
        else:
            self._note(text)

    def _take_delta(self, delta: Map) -> None:
        if delta["turn_id"] != self.running:
            return
        text = str(delta["text"])
        if delta["kind"] == "reasoning":
            self.thought += text
        elif delta["kind"] == "text":
            item_id = str(delta["item_id"])
            if item_id not in self._said:
                self.break_tail()
                self._said[item_id] = ""
            self._said[item_id] += text
            self.doing = self.thought = ""
            self._add_blocks(self._splitter.feed(text))

    def _take_event(self, event: Map) -> None:
        turn_id = str(event.get("turn_id"))
        match event["type"]:
            case "prompt_accepted":
                self._prompts[turn_id] = event
                own = event.get("key") in self._keys
                self.queue.append(Waiting(turn_id, word_prompt(event), own))
            case "prompt_steered":
                self._expect_steering(event)
            case "prompt_withdrawn":
                self._leave_queue(turn_id)
                self._prompts.pop(turn_id, None)
            case "turn_started":
                self._start_turn(turn_id, event)
            case "item_added":
                self._take_item(event)
            case "turn_finished":
                self._finish_turn(turn_id, event)
            case "settings_changed" if event.get("model"):
                self.model = str(event["model"])
            case "view_changed":
                self._take_change(event)
            case _:
                pass
        line = self._activity.take(event) if turn_id == self.running else None
        if line is not None:
            self.break_tail()
            self._pieces.append(Piece("line", fit_line(line, self.columns)))
        if event["type"] in ("item_added", "question_asked", "question_answered"):
            self._tell_running()

    def _expect_steering(self, event: Map) -> None:
        """Something was said to the turn that runs: it waits before all else."""
        own = event.get("key") in self._keys
        for item in event.get("items", ()):
            waiting = Waiting(str(item["id"]), word_prompt({"items": [item]}), own)
            self.queue.insert(len(self._steering), waiting)
            self._steering[waiting.turn_id] = own

    def _start_turn(self, turn_id: str, event: Map) -> None:
        self.break_tail()
        again = turn_id not in self._prompts
        prompt = self._prompts.pop(turn_id, None)
        self._leave_queue(turn_id)
        self._said.clear()
        self._splitter = Splitter()
        self._stopped = False
        self.running, self.thought, self.doing = turn_id, "", "..."
        if event.get("model"):
            self.model = str(event["model"])
        if again or prompt is None:
            self._note("Started again.")
            return
        self.is_own = prompt.get("key") in self._keys
        items = prompt.get("items", [find_stand_in(prompt)])
        text = "\n".join(each for each in (lay_out_prompt(item, prompt) for item in items) if each)
        self._add_prompt(text, is_own=self.is_own)

    def _add_prompt(self, text: str, *, is_own: bool) -> None:
        if not (is_own or self._recalls):
            text = f"{PROMPT_MARK}{OTHER_MARK} {text.removeprefix(PROMPT_MARK)}"
        self._pieces.append(Piece("prompt", text))

    def _leave_queue(self, turn_id: str) -> None:
        self.queue = [each for each in self.queue if each.turn_id != turn_id]

    def _take_item(self, event: Map) -> None:
        message = read_item(event.get("item", find_stand_in(event)), event)
        if message is None:
            return
        if event.get("status") == "superseded":
            self._said.pop(message.item_id, None)
            self.break_tail()
            return
        match message.role:
            case "assistant":
                self._take_answer(message)
            case "user":
                self.break_tail()
                self._leave_queue(message.item_id)
                self._stopped = False  # what follows is another answer
                is_own = self._steering.pop(message.item_id, True)
                self._add_prompt(lay_out_prompt(event["item"], event), is_own=is_own)
            case "system":
                text = read_content(message, describe_blob)
                if text in self._notices:
                    self._notices.remove(text)
                else:
                    self._note(text)
            case "tool":
                pass  # for the model; that it was called is told by its line

    def _take_answer(self, message: Message) -> None:
        content = read_content(message, describe_blob)
        said = self._said.pop(message.item_id, "")
        self.thought = ""
        if content.startswith(said):
            self._add_blocks(self._splitter.feed(content[len(said) :]))
        elif not said.startswith(content) and not any("sha256" in part for part in message.parts):
            self.break_tail()  # the final text is what counts
            self._splitter = Splitter()
            self._add_blocks(self._splitter.feed(content))
        self._add_blocks(self._splitter.finish())
        if message.interrupted:
            self._stopped = True
            self._pieces.append(Piece("line", INTERRUPTED))

    def _finish_turn(self, turn_id: str, event: Map) -> None:
        if turn_id != self.running:  # it was withdrawn, or began before this chat
            self._leave_queue(turn_id)
            return
        self.break_tail()
        outcome = event.get("outcome")
        if outcome == "failed":
            self._fail(str(event.get("message") or "The turn failed."))
        elif outcome == "interrupted":
            if not self._stopped:
                self._pieces.append(Piece("line", INTERRUPTED))
        elif event.get("message"):
            self._note(str(event["message"]))
        elif event.get("code") == CUT:
            self._note("The answer was cut by a length limit.")
        self._end_turn(turn_id)

    def _end_turn(self, turn_id: str) -> None:
        if turn_id == self.running:
            self.break_tail()
            self.running, self.is_own = None, False
            self.doing = self.thought = ""
            self._activity = Activity()
            self.ended += 1

    def _take_change(self, event: Map) -> None:
        if self._changes and event.get("turn_id") is None:
            self._changes -= 1
            return
        text = describe_change(event)
        if event.get("kind") == "clear":
            text = "The model sees nothing of the above."
        if text is not None:
            self._note(text)

    def _tell_running(self) -> None:
        running = list(self._activity.running.values())
        if self._activity.asked:
            self.doing = ""
        elif running:
            more = f" and {len(running) - 1} more" if len(running) > 1 else ""
            self.doing = shorten_line(f"{running[0]}{more}", None)
        elif self.running is not None and not self.tail:
            self.doing = self.doing or "..."

    def _add_blocks(self, blocks: list[Block]) -> None:
        self._pieces += [Piece("block", block=each) for each in blocks]

    def _note(self, text: str) -> None:
        self.break_tail()
        self._pieces.append(Piece("notice", text))

    def _fail(self, text: str) -> None:
        self.break_tail()
        self._pieces.append(Piece("failure", text))


def word_prompt(event: Mapping[str, object]) -> str:
    """A prompt that waits, in one line."""
    items = event.get("items")
    texts = []
    for item in items if isinstance(items, list) else ():
        for part in item.get("parts", ()):
            texts.append(describe_attached(part) or str(part.get("text", "")))
    return shorten_line(" ".join(texts), None)
