"""Answers: what one answer of a model means to its turn, and what is said against it.

Pure. Whether an answer will do is for the shell to say; here is only what the
model is told then, how the turn ends if that did not help, and how a log shows
that it has been said already.
"""

from askd.core.items import AssistantMessage, Text, UserMessage
from askd.core.outcome import FAILED, End, Stop

CUT_SHORT: tuple[Stop, ...] = ("length", "refusal", "filtered")
"""Ends before the model's own: no call of such an answer runs, and how it ended says more than
what could be said against it."""

ASK_AGAIN = "Answer once more, with nothing but what was asked for."
"""What follows the objection itself, which does not say what to do."""

_SUFFIX = ".objection"


def is_empty(message: AssistantMessage) -> bool:
    """Whether there is nothing in it that could be kept."""
    said = any(not isinstance(part, Text) or part.text for part in message.parts)
    return not (said or message.reasoning or message.calls)


def is_paused(message: AssistantMessage, stop: Stop | None) -> bool:
    """Whether the model wants to go on from here; thoughts alone are nothing to go on from."""
    said = any(not isinstance(part, Text) or part.text.strip() for part in message.parts)
    return stop == "pause" and said


def can_object(message: AssistantMessage, stop: Stop) -> bool:
    """Whether it is a last answer, whole in its own way, of which can be asked that it fits."""
    return not message.calls and not is_paused(message, stop) and stop not in CUT_SHORT


def make_objection(answer_id: str, sentence: str) -> UserMessage:
    """The message that says to the model why its answer `answer_id` will not do."""
    return UserMessage(f"{answer_id}{_SUFFIX}", (Text(f"{sentence} {ASK_AGAIN}"),))


def is_objection(message: UserMessage) -> bool:
    """Whether the machine itself said this; what people say has ids of other forms."""
    return message.id.endswith(_SUFFIX)


def give_up(sentence: str) -> End:
    """How a turn ends whose second answer will not do either."""
    return End("failed", FAILED, "schema_mismatch", sentence)


def stop_circling(completions: int) -> End:
    """How a turn ends that has asked the model too often."""
    sentence = (
        f"The turn was ended after {completions} requests to the model; "
        "send another prompt to go on."
    )
    return End("failed", FAILED, "turn_failed", sentence)
