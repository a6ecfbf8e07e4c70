"""What a person sees who follows a conversation: prompts, answers, notices, ends.

Pure: news in (`ask.feed`), text out. A prompt appears when its turn begins, so
that it never breaks into another answer. The text is a model's: the caller
strips what a terminal would obey.
"""

from ask.activity import describe_call
from ask.feed import Map, News
from ask.graphemes import cut, shorten
from ask.reveal import shorten_line
from ask.transcript import Call, Message, describe_blob, find_stand_in, read_content, read_item

PROMPT_LIMIT = 500
"""Characters of a prompt that are shown; `ask history show --raw` has all."""
CALL_LIMIT = 200
OUTPUT_LIMIT = 200
"""Characters of what a tool was asked for, and of what it found: that is for the model."""
OUTPUT_LINES = 5
PROMPT_MARK = "> "
NOTICE_MARK = "* "


class Scene:
    """One view of one conversation; `show` turns each piece of news into text to write."""

    def __init__(self) -> None:
        self._waiting: dict[str, Map] = {}
        self._said: dict[str, str] = {}  # item id to what was shown of it while it ran
        self._open = False  # the last line has no end yet

    def show(self, news: News) -> str:
        """The text that follows what was shown before; empty if there is nothing to see."""
        match news.method:
            case "event":
                return self._show_event(news.fields)
            case "delta" if news.fields["kind"] == "text":
                return self._show_delta(news.fields)
            case "turn_unsaved":
                reason = news.fields.get("reason", "")
                return self.end_line() + f"Failed to save turn: {reason}\n\n"
            case "progress" if news.fields.get("kind") == "overflow":
                return self.end_line() + f"{NOTICE_MARK}{news.fields.get('text', '')}\n\n"
            case _:
                return ""

    def _show_event(self, event: Map) -> str:
        turn_id = str(event.get("turn_id"))
        match event["type"]:
            case "prompt_accepted":
                self._waiting[turn_id] = event
                return ""
            case "prompt_withdrawn":
                self._waiting.pop(turn_id, None)
                return ""
            case "turn_started":
                return self._show_prompt(self._waiting.pop(turn_id, None))
            case "item_added":
                return self._show_item(event)
            case "turn_finished":
                self._said.clear()
                return self._show_end(event)
            case "view_changed" if event.get("kind") == "clear":
                return self.end_line() + f"{NOTICE_MARK}The model sees nothing of the above.\n\n"
            case "view_changed" if (text := describe_change(event)) is not None:
                return self.end_line() + f"{NOTICE_MARK}{text}\n\n"
            case _:
                return ""

    def _show_prompt(self, prompt: Map | None) -> str:
        if prompt is None:  # shown before: this is another attempt
            self._said.clear()
            return self.end_line() + f"{NOTICE_MARK}Started again.\n\n"
        texts = [
            lay_out_prompt(item, prompt) for item in prompt.get("items", [find_stand_in(prompt)])
        ]
        return self.end_line() + "".join(f"{text}\n\n" for text in texts if text)

    def _show_delta(self, delta: Map) -> str:
        item_id, text = delta["item_id"], delta["text"]
        before = "" if item_id in self._said else self.end_line()
        self._said[item_id] = self._said.get(item_id, "") + text
        self._open = True
        return f"{before}{text}"

    def _show_item(self, event: Map) -> str:
        message = read_item(event.get("item", find_stand_in(event)), event)
        if message is None:
            return ""
        if event.get("status") == "superseded":
            self._said.pop(message.item_id, None)
            return self.end_line()
        match message.role:
            case "assistant":
                return self._show_answer(message)
            case "user":
                return self.end_line() + f"{lay_out_prompt(event['item'], event)}\n\n"
            case "tool":
                content = shorten_output(read_content(message, describe_blob))
                return self.end_line() + f"{NOTICE_MARK}{content}\n\n"
            case "system":
                return self.end_line() + f"{NOTICE_MARK}{read_content(message, describe_blob)}\n\n"

    def _show_answer(self, message: Message) -> str:
        content = read_content(message, describe_blob)
        said = self._said.pop(message.item_id, "")
        if content.startswith(said):
            text = content[len(said) :] if said else self.end_line() + content
        elif said.startswith(content) or any("sha256" in part for part in message.parts):
            # A crash lost what was shown and not yet kept; or all was shown, and kept as a blob.
            text = ""
        else:  # the final text is what counts
            text = self.end_line() + content
        self._open = False
        shown = text or said
        ends = not shown or shown.endswith("\n")
        lines = [lay_out_call(call) for call in message.calls]
        if message.interrupted:
            lines.append("(interrupted)")
        return text + ("" if ends else "\n") + "".join(f"{line}\n" for line in lines) + "\n"

    def _show_end(self, event: Map) -> str:
        self._waiting.pop(str(event.get("turn_id")), None)
        before = self.end_line()
        if event.get("outcome") != "failed":
            return before
        return before + f"{NOTICE_MARK}{event.get('message') or 'The turn failed.'}\n\n"

    @property
    def line_open(self) -> bool:
        """Whether the last line has no end yet."""
        return self._open

    def end_line(self) -> str:
        """What ends a line that was left open; empty if none is."""
        closing = "\n" if self._open else ""
        self._open = False
        return closing


def describe_change(event: Map) -> str | None:
    """What a model does not see any more, or sees again; None: that is told in another way."""
    match event.get("kind"):
        case "prune":
            before, after = event.get("tokens_before"), event.get("tokens_after")
            return f"Pruned: {before} -> {after} tokens; the model does not see what left."
        case "undo":
            return "The last compaction or pruning was taken back."
        case _:
            return None


def lay_out_call(call: Call) -> str:
    """A call in one line: the tool, and what it is about."""
    return shorten(shorten_line(describe_call(call.name, call.arguments), None), CALL_LIMIT)


def shorten_output(text: str) -> str:
    """The beginning of what a tool found, and how much it is in all."""
    lines = text.rstrip("\n").split("\n")
    beginning = "\n".join(lines[:OUTPUT_LINES])
    mark = f"... ({len(text)} chars total)"
    if len(beginning) > OUTPUT_LIMIT:
        return cut(beginning, OUTPUT_LIMIT) + mark
    return beginning if len(lines) <= OUTPUT_LINES else f"{beginning}\n{mark}"


def lay_out_prompt(item: Map, event: Map) -> str:
    """A prompt as its reader needs it: the words, and what was attached by name alone."""
    message = read_item(item, event)
    if message is None:
        return ""
    texts = [
        describe_attached(part) or shorten(part["text"].strip("\n"), PROMPT_LIMIT)
        for part in message.parts
    ]
    indent = "\n" + " " * len(PROMPT_MARK)
    return PROMPT_MARK + "\n".join(texts).replace("\n", indent)


def describe_attached(part: Map) -> str | None:
    """What is beside the words of a prompt, by name alone; None: a part of the words."""
    if part.get("type") == "blob":
        return describe_blob(part)
    if part.get("name"):
        return f"[{part['name']}, {len(str(part.get('text', '')))} characters]"
    return None
