"""What a command line asked for, as a value, before anything of it is read.

It reads no file and asks nobody; what it can refuse is text that no conversation
can have. `ask.prompt` does what is wished.
"""

from dataclasses import dataclass

from ask.exits import USAGE, Failed
from ask.fast.argv import KEY_LENGTH, is_key

EFFORTS = ("none", "minimal", "low", "medium", "high")
APPROVALS = ("deny", "ask", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the command line asked for. None: not said."""

    words: tuple[str, ...] = ()
    template: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    again: bool = False
    session: str | None = None
    model: str | None = None
    system: str | None = None
    files: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    schema: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    effort: str | None = None
    overflow: str | None = None
    tools: list[str] | None = None
    approve: str | None = None
    instructions: bool | None = None
    notify: bool | None = None
    key: str | None = None
    timeout_s: float | None = None
    busy: str | None = None
    detach: bool = False
    ephemeral: bool = False
    no_stdin: bool = False
    no_mentions: bool = False
    as_json: bool = False
    raw: bool = False
    quiet: bool = False
    verbose: bool = False
    usage: bool = False
    extract: bool = False
    output: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the answer is shown when it is whole, for only a part of it is shown."""
        return self.extract or self.schema is not None


def check_words(wish: Wish) -> None:
    """Refuse what the command line says and no conversation can have.

    Raises:
        Failed: a text that is not UTF-8, or a key that is none.
    """
    for what, text in (
        ("The conversation's name", wish.session),
        ("The model's name", wish.model),
        ("The system prompt", wish.system),
        ("The schema", wish.schema),
        ("The text to stop at", "".join(wish.stop)),
        ("The name of a tool", "".join(wish.tools or ())),
    ):
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            raise Failed(USAGE, f"{what} is not valid UTF-8.", data={"reason": "usage"}) from None
    if wish.key is not None and not is_key(wish.key):
        raise Failed(
            USAGE,
            f"A key has 1 to {KEY_LENGTH} printable characters.",
            hint="A new one: cat /proc/sys/kernel/random/uuid",
            data={"reason": "usage"},
        )
