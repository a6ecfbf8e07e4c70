"""`ask`, the client of askd: a command, and a small blocking library.

    import ask
    with ask.connect() as client:
        print(client.ask("Why is the sky blue?"))
        for event in client.turn("And at night?", conversation="sky"):
            ...

Loading this package loads nothing else (PEP 562): the command's start-up time is
what the daemon exists for. It never imports trio, pydantic, httpx or askd.
"""

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from ask.library.client import Client as Client
    from ask.library.client import connect as connect
    from ask.library.conversations import Conversations as Conversations
    from ask.library.errors import AnswerCut as AnswerCut
    from ask.library.errors import ApprovalNeeded as ApprovalNeeded
    from ask.library.errors import Busy as Busy
    from ask.library.errors import ConnectionLost as ConnectionLost
    from ask.library.errors import CredentialsError as CredentialsError
    from ask.library.errors import Error as Error
    from ask.library.errors import Interrupted as Interrupted
    from ask.library.errors import NoDaemon as NoDaemon
    from ask.library.errors import NotFound as NotFound
    from ask.library.errors import Overflow as Overflow
    from ask.library.errors import RateLimited as RateLimited
    from ask.library.errors import StorageFailed as StorageFailed
    from ask.library.errors import TimeLimit as TimeLimit
    from ask.library.errors import TurnFailed as TurnFailed
    from ask.library.errors import UsageError as UsageError
    from ask.library.events import Accepted as Accepted
    from ask.library.events import Answered as Answered
    from ask.library.events import ArgumentsDelta as ArgumentsDelta
    from ask.library.events import Choice as Choice
    from ask.library.events import Event as Event
    from ask.library.events import Finished as Finished
    from ask.library.events import Message as Message
    from ask.library.events import Other as Other
    from ask.library.events import Outcome as Outcome
    from ask.library.events import Progress as Progress
    from ask.library.events import Question as Question
    from ask.library.events import ReasoningDelta as ReasoningDelta
    from ask.library.events import Started as Started
    from ask.library.events import TextDelta as TextDelta
    from ask.library.events import ToolCall as ToolCall
    from ask.library.events import ToolOutput as ToolOutput
    from ask.library.events import Usage as Usage
    from ask.library.jobs import Jobs as Jobs
    from ask.library.prompts import Attachment as Attachment
    from ask.library.prompts import Options as Options
    from ask.library.subscription import Subscription as Subscription
    from ask.library.turn import Turn as Turn
    from ask.library.values import Compaction as Compaction
    from ask.library.values import Conversation as Conversation
    from ask.library.values import Hit as Hit
    from ask.library.values import Job as Job
    from ask.library.values import JobFailure as JobFailure
    from ask.library.values import JobState as JobState

__version__ = "0.1.0"

_ROOMS = {
    "client": ("Client", "connect"),
    "conversations": ("Conversations",),
    "errors": (
        *("AnswerCut", "ApprovalNeeded", "Busy", "ConnectionLost", "CredentialsError", "Error"),
        *("Interrupted", "NoDaemon", "NotFound", "Overflow", "RateLimited", "StorageFailed"),
        *("TimeLimit", "TurnFailed", "UsageError"),
    ),
    "events": (
        *("Accepted", "Answered", "ArgumentsDelta", "Choice", "Event", "Finished", "Message"),
        *("Other", "Outcome", "Progress", "Question", "ReasoningDelta", "Started", "TextDelta"),
        *("ToolCall", "ToolOutput", "Usage"),
    ),
    "jobs": ("Jobs",),
    "prompts": ("Attachment", "Options"),
    "subscription": ("Subscription",),
    "turn": ("Turn",),
    "values": ("Compaction", "Conversation", "Hit", "Job", "JobFailure", "JobState"),
}
"""Where the public names live, by module of `ask.library`."""

__all__ = ["__version__", *[name for names in _ROOMS.values() for name in names]]


def __getattr__(name: str) -> object:
    for room, names in _ROOMS.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"ask.library.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
