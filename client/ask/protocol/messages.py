"""Every method and notification: names, parameters, results, one sentence each.

`METHODS` and `NOTIFICATIONS` are the whole of it; `docs/reference/protocol.md`
is generated from them. Parameters travel as one map of named arguments; one
that is None may be left out. Times `*_at` are unix seconds, `*_s` seconds.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from ask.protocol.limits import BLOB_CHUNK_BYTES as BLOB_CHUNK_BYTES
from ask.protocol.limits import BLOB_LIMIT_BYTES as BLOB_LIMIT_BYTES
from ask.protocol.limits import CONTAINER_LIMIT as CONTAINER_LIMIT
from ask.protocol.limits import HELLO_LIMIT_BYTES as HELLO_LIMIT_BYTES
from ask.protocol.limits import IMPORT_LIMIT_BYTES as IMPORT_LIMIT_BYTES
from ask.protocol.limits import MESSAGE_LIMIT_BYTES as MESSAGE_LIMIT_BYTES
from ask.protocol.limits import NESTING_LIMIT as NESTING_LIMIT
from ask.protocol.limits import Map as Map

ConversationId = Annotated[str, "the conversation's full id"]
TurnId = Annotated[str, "the turn's id"]
Cursor = Annotated[str | None, "where to go on: the last answer's `next_cursor`"]
Limit = Annotated[int, "how many at most"]
CallerEnv = Annotated[dict[str, str] | None, "the caller's variables, allow-listed"]
CallerSecrets = Annotated[dict[str, str] | None, "the caller's provider keys; never stored"]
JobId = Annotated[str, "an id, or the beginning of one: 4 characters or more"]
TerminalId = Annotated[str | None, "who the caller's terminal is; it is bound to the conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which conversation is meant."""

    kind: Annotated[
        Literal["new", "id", "session", "terminal"],
        "`new`: create one; `id`: this full id; `session`: exact id, else exact name, else an id "
        "prefix of 4 or more, else (with `create`) a new one of that name; `terminal`: the "
        "conversation that `value` names was last used by that terminal",
    ]
    value: Annotated[str | None, "the id, name, prefix or terminal; for `new` a name"] = None
    create: Annotated[bool, "with `session`: create the conversation if it is not there"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    """One piece of a prompt: its words, an attached text, or a blob put before."""

    type: Literal["text", "blob"]
    text: Annotated[str | None, "the text, at most 256 KiB of UTF-8"] = None
    name: Annotated[str | None, "where an attached text came from: `stdin` or a path"] = None
    sha256: Annotated[str | None, "for a blob: its digest, in hex"] = None
    bytes: Annotated[int | None, "for a blob: its size"] = None
    media_type: Annotated[str | None, "for a blob: `text/plain`, `image/png`, ..."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    """What a prompt asks for beyond its words; what is left out is decided by settings."""

    model: Annotated[str | None, "`provider/model` or an alias"] = None
    system: Annotated[str | None, "a system prompt"] = None
    detach: Annotated[
        bool,
        "nobody stays to watch: the turn is a job too, may wait for a person for 24 hours, and is "
        "run again after the daemon's end",
    ] = False
    timeout_s: Annotated[float | None, "end the turn after this long, with code 124"] = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    stop: Annotated[list[str] | None, "texts at which the model stops"] = None
    effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high"] | None,
        "how much the model is to think before it answers",
    ] = None
    answer_schema: Annotated[Map | None, "a JSON schema that the answer must fit"] = None
    overflow: Annotated[
        Literal["compact", "reset", "continue", "ask"] | None,
        "what to do when the conversation does not fit any more; `ask` without a person there "
        "ends the turn with code 7",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    client: Annotated[str, "the program's name"]
    version: Annotated[str, "the program's version"]
    protocol: Annotated[int, "the major version of the protocol that it speaks"]
    data: Annotated[
        str | None, "the data directory that is meant; the daemon of another one refuses"
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HelloResult:
    protocol: int
    version: str
    pid: int
    boot_id: Annotated[str, "changes with every start of the daemon"]
    capabilities: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart:
    target: Target
    key: Annotated[
        str, "1 to 128 characters made by the client, best a UUID: the same key is the same turn"
    ]
    parts: list[PromptPart]
    options: TurnOptions = TurnOptions()
    busy: Annotated[Literal["queue", "fail"], "when a turn is running or queued"] = "queue"
    ephemeral: Annotated[bool, "keep the conversation in memory only"] = False
    cwd: Annotated[str | None, "the caller's working directory"] = None
    env: CallerEnv = None
    secrets: CallerSecrets = None
    terminal: TerminalId = None
    follow: Annotated[bool, "subscribe from the prompt's own seq"] = False
    interactive: Annotated[bool, "a person is there who could answer questions"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartResult:
    turn_id: str
    conversation_id: str
    seq: Annotated[int, "the seq of the prompt's own event"]
    position: Annotated[int, "how many turns are before it"]
    created: Annotated[bool, "the conversation is new"] = False
    name: str | None = None
    job_id: Annotated[str | None, "with `detach`: the job that the turn is"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRef:
    conversation_id: ConversationId
    turn_id: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWait:
    conversation_id: ConversationId
    turn_id: TurnId
    timeout_s: Annotated[float, "answer after this long even if the turn is not over"] = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    conversation_id: str
    turn_id: str
    state: Literal["queued", "running", "finished"]
    outcome: str | None = None
    code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    conversation_id: ConversationId
    question_id: str
    digest: Annotated[str, "the question's digest: an answer to what was shown, nothing else"]
    decision: Annotated[str, "what is decided; one of the question's choices, if it has some"]
    terminal: Annotated[str | None, "who the caller's terminal is: the others are told"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Nothing more to say than that it is done, and durable."""

    conversation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCreate:
    name: str | None = None
    model: Annotated[str | None, "`provider/model` or an alias; an unknown one is refused"] = None
    system: str | None = None
    terminal: TerminalId = None
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary:
    id: str
    name: str | None
    title: str | None
    model: str | None
    state: Annotated[Literal["needs_you", "working", "idle", "stored"], "`idle`: live and at rest"]
    message_count: int
    last_seq: int
    created_at: float
    updated_at: float
    queued: Annotated[int, "prompts that wait"] = 0
    ephemeral: bool = False
    pinned: Annotated[bool, "someone said that it is one to keep"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList:
    cursor: Cursor = None
    limit: Limit = 50
    live: Annotated[bool, "only those that the daemon has in memory"] = False
    before_at: Annotated[
        float | None, "only stored ones in which nothing has changed since this time"
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPage:
    data: list[ConversationSummary]
    total: int
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRead:
    conversation_id: ConversationId
    after_seq: int = 0
    limit: Limit = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    data: Annotated[list[Map], "events, in the order of their seq"]
    next_after_seq: Annotated[int | None, "read on after this one; None: that was the last"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSubscribe:
    conversation_id: ConversationId
    after_seq: Annotated[int, "events after this one"] = 0
    limit: Limit = 200
    interactive: Annotated[bool, "a person is there who could answer questions"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeResult:
    data: Annotated[list[Map], "events, in the order of their seq"]
    next_after_seq: Annotated[
        int | None, "not the last page: subscribe again after this seq; None: you are subscribed"
    ] = None
    live: Annotated[list[Map], "the text so far of running items: {turn_id, item_id, kind, text}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRef:
    conversation_id: ConversationId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationResolve:
    target: Target
    bind: Annotated[str | None, "make it the conversation of this terminal"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationNote:
    conversation_id: ConversationId
    text: str
    level: Literal["command", "result", "warning"] = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRename:
    conversation_id: ConversationId
    name: Annotated[str | None, "None takes the name away"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationExport:
    conversation_id: ConversationId
    format: Annotated[
        Literal["json", "markdown", "codex"],
        "`json`: everything, as one object; `codex`: the lines of a rollout, everything too",
    ] = "json"
    offset: Annotated[int, "0 begins; then the last answer's `next_offset`"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChunk:
    bytes: Annotated[bytes, "this chunk"]
    next_offset: Annotated[int | None, "read on from here; None: that was the last"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationImport:
    size: Annotated[int, "the size of the whole file in bytes, at most 256 MiB"]
    offset: Annotated[int, "where this chunk begins; 0 begins a file"]
    bytes: Annotated[bytes, "this chunk, at most 256 KiB"]
    label: Annotated[str, "what to call the file in a sentence"] = "The file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """With the last chunk: what became of the file. Until then only `received` is said."""

    received: Annotated[int, "bytes so far"]
    conversation_id: Annotated[str | None, "the conversation that holds it now"] = None
    existed: Annotated[bool, "the same file was imported before, as this conversation"] = False
    name: str | None = None
    title: str | None = None
    message_count: int = 0
    skipped: Annotated[list[Map], "lines that could not be read: {line, why}; the first of them"]
    skipped_count: Annotated[int, "how many they are in all"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDelete:
    conversation_id: ConversationId
    interrupt: Annotated[
        bool, "end what runs and take back what waits; else a busy conversation is refused"
    ] = False
    before_at: Annotated[
        float | None,
        "only if nothing has changed in it since this time, it has no name and no pin, and nobody "
        "works in it or follows it",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    conversation_id: str
    deleted: Annotated[bool, "false: it stays, for what `before_at` demands"] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupList:
    holding: Annotated[
        list[str] | None,
        "only copies that hold one of these conversations, at most 1,000 ids, or cannot be read",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRecord:
    name: Annotated[str, "of the file, beside the database"]
    bytes: int
    at: Annotated[float, "when it was last written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPage:
    data: list[BackupRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRef:
    name: Annotated[str, "as `backup/list` says it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFork:
    conversation_id: ConversationId
    at_seq: Annotated[int | None, "as it was after this event; None: as it is"] = None
    name: str | None = None
    terminal: TerminalId = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPin:
    conversation_id: ConversationId
    item_id: Annotated[str | None, "a message; None: the conversation itself"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSearch:
    text: Annotated[
        str,
        'words that must all be in one message, at most 1,000 characters; "in quotes" in a row; '
        "`word*` finds what begins with it; nothing else means anything",
    ]
    conversation_id: Annotated[str | None, "only in this one"] = None
    role: Annotated[
        Literal["user", "assistant", "tool", "summary"] | None, "only what this one said"
    ] = None
    since_at: Annotated[float | None, "said from this time on"] = None
    until_at: Annotated[float | None, "said before this time"] = None
    rank: Annotated[bool, "the best first, not the newest"] = False
    cursor: Cursor = None
    limit: Limit = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecord:
    """One message in which everything was found."""

    conversation_id: str
    name: str | None
    title: str | None
    seq: Annotated[int, "the event that brought it"]
    at: float
    role: Literal["user", "assistant", "tool", "summary"]
    item_id: str | None
    snippet: Annotated[str, "a piece of it on one line, around the first hit"]
    marks: Annotated[
        list[list[int]], "where hits stand in the snippet: [start, end) in code points"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    data: list[SearchRecord]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCompact:
    conversation_id: str
    model: Annotated[str | None, "who summarises; none: as the settings say"] = None
    timeout_s: Annotated[
        float, "answer after this long even if it is not over; 0: at once. It goes on all the same"
    ] = 660.0
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactResult:
    conversation_id: str
    state: Annotated[
        Literal["finished", "idle", "failed", "pending"],
        "`idle`: there was nothing to do; `failed`: all is as it was; `pending`: it is not over",
    ]
    text: Annotated[str, "a sentence for people"]
    tokens_before: Annotated[int | None, "of the next request, about"] = None
    tokens_after: int | None = None
    why: Annotated[str | None, "what kept it from being done"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPrune:
    conversation_id: str
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    conversation_id: str
    pruned: Annotated[bool, "False: there was nothing that had to leave, and could"]
    tokens_before: Annotated[int | None, "of the next request, about"] = None
    tokens_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    conversation_id: str
    undone: Annotated[
        str | None, "what was taken back, `compact` or `prune`; none: there was nothing"
    ]
    tokens_before: Annotated[int | None, "of the next request then, before that change"] = None
    tokens_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationContext:
    conversation_id: ConversationId
    cursor: Cursor = None
    limit: Limit = 200
    last: Annotated[int | None, "without a cursor: begin with the last so many items"] = None
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPage:
    """The next request of a conversation. Tokens are estimates, those that decide what fits."""

    data: Annotated[
        list[Map],
        "items as events hold them, each with its `tokens`; a system prompt, "
        "{type: `system`, text, tokens}, is the first",
    ]
    total: Annotated[int, "items in all pages"]
    tokens: Annotated[int, "of the whole request, its frame and tools included"]
    healed: Annotated[int, "what was wrong with calls and outputs in the log, and is not in here"]
    model: Annotated[str | None, "who would be asked; None: nobody can be, see `note`"] = None
    context_window: Annotated[int | None, "tokens; None: not known"] = None
    budget: Annotated[int | None, "of the window, what a request may take"] = None
    note: Annotated[str | None, "why no model can be asked"] = None
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationScrub:
    pattern: Annotated[str, "the text to replace, at most 10,000 characters"] = field(repr=False)
    regex: Annotated[
        bool, "it is a regular expression: what it matches anywhere is replaced everywhere"
    ] = False
    dry_run: Annotated[bool, "only say where it stands"] = False
    short: Annotated[bool, "it may have fewer than 4 characters"] = False
    backups: Annotated[bool, "remove the copies of the database too"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubRecord:
    """One conversation that holds the text, or held it."""

    conversation_id: str
    name: Annotated[str | None, "without the text"]
    title: Annotated[str | None, "without the text"]
    events: Annotated[int, "how many of its events"]
    blobs: Annotated[int, "how many contents beside the log"]
    occurrences: int
    is_busy: Annotated[bool, "a turn or a job is at work: it cannot be scrubbed now"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubResult:
    data: Annotated[list[ScrubRecord], "the first 500, the last changed first"]
    total: Annotated[int, "conversations in all"]
    occurrences: Annotated[int, "in all of them"]
    rows: Annotated[int, "rows that belong to no conversation"]
    files: Annotated[list[str], "files that hold it, or were scrubbed: the first 500"]
    files_total: int
    backups: Annotated[list[str], "copies of the database that were removed"]
    left: Annotated[list[str], "files that hold it still, or may: the first 500"]
    left_total: int
    erased: Annotated[bool, "nothing of it is left in the database's own files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobPut:
    sha256: Annotated[str, "the digest of the whole, in hex"]
    size: Annotated[int, "the size of the whole in bytes"]
    offset: int
    bytes: Annotated[bytes, "this chunk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobPutResult:
    received: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRead:
    sha256: str
    offset: int = 0
    limit: Annotated[int, "bytes"] = BLOB_CHUNK_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobReadResult:
    bytes: Annotated[bytes, "this chunk"]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobList:
    kind: Annotated[str | None, "only jobs of this kind"] = None
    states: Annotated[list[str] | None, "only jobs in one of these states"] = None
    conversation_id: Annotated[str | None, "only jobs of this conversation"] = None
    cursor: Cursor = None
    limit: Limit = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailure:
    """A try that failed."""

    at: float
    attempt: Annotated[int, "which try it was, of all there ever were"]
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    id: str
    kind: str
    state: Annotated[
        Literal[
            "available",
            "scheduled",
            "running",
            "retryable",
            "completed",
            "cancelled",
            "discarded",
        ],
        "`retryable`: it failed and is tried again; `discarded`: it failed for good; the last "
        "three are ends",
    ]
    conversation_id: str | None
    attempt: Annotated[int, "tries so far, since it was last asked to be tried again"]
    max_attempts: int
    run_at: float
    created_at: float
    started_at: Annotated[float | None, "when its last try began"] = None
    finished_at: float | None = None
    error: Annotated[str | None, "what went wrong last"] = None
    code: Annotated[int | None, "of a turn's job that is over: the turn's exit code"] = None
    turn_id: Annotated[str | None, "the turn that it is, or that it is for"] = None
    errors: Annotated[list[JobFailure] | None, "`job/read`: the last ten failures"] = None
    seq: Annotated[int | None, "`job/read`: the seq of its turn's prompt"] = None
    question: Annotated[
        Map | None,
        "`job/read`: what its turn waits for a person to decide: "
        "{question_id, kind, digest, detail, expires_at}",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    data: list[JobRecord]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRef:
    job_id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRetry:
    job_id: JobId
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWait:
    job_ids: Annotated[list[str], "as in `job/read`; 200 at the most"]
    any: Annotated[bool, "answer as soon as one of them is over, not all"] = False
    timeout_s: Annotated[float, "answer after this long even if they are not; 300 at the most"] = (
        60.0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWaitResult:
    data: Annotated[list[JobRecord], "the jobs, in the order in which they were named"]
    over: Annotated[bool, "what was waited for has come; False: the time is over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCount:
    """How many jobs of a kind are in a state."""

    kind: str
    state: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """What was done of a kind since the daemon started."""

    kind: str
    ends: Annotated[
        dict[str, int],
        "tries by how they ended: completed, failed (and tried again), discarded, cancelled, "
        "stopped",
    ]
    running: int
    queue_s: Annotated[float, "from due to begun, all tries together"]
    queue_max_s: float
    run_s: Annotated[float, "from begun to ended, all tries together"]
    run_max_s: float
    oldest_s: Annotated[float, "how long the oldest of those that run has been; 0: none runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStats:
    stored: list[JobCount]
    kinds: list[JobKind]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    secrets: CallerSecrets = None
    env: CallerEnv = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    name: Annotated[str, "`provider/model`"]
    provider: str
    context_window: Annotated[int | None, "tokens; None: not known, a safe guess is used"] = None
    max_output_tokens: Annotated[int | None, "tokens; None: not known"] = None
    images: Annotated[bool | None, "whether it can see; None: not known"] = None
    price: Annotated[
        Map | None, "US dollars for a million tokens: {input, output, cached?}; None: not known"
    ] = None
    aliases: Annotated[list[str] | None, "other names of it, from the settings"] = None
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPage:
    data: list[ModelRecord]
    warnings: Annotated[list[str], "providers that could not be asked, and why"]
    default: Annotated[str | None, "the model that answers when none is named"] = None
    default_why: Annotated[str | None, "why it is that one, or why there is none"] = None
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRead:
    by: Annotated[Literal["day", "model", "conversation"], "what a row stands for"] = "day"
    since_at: Annotated[float | None, "answers from this time on"] = None
    utc_offset_s: Annotated[int, "where a day begins: the caller's time zone"] = 0
    cursor: Cursor = None
    limit: Limit = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    group: Annotated[
        str | None, "`YYYY-MM-DD`, `provider/model` or a conversation's id; None: it was deleted"
    ]
    label: Annotated[str | None, "a conversation's name or title"] = None
    answers: Annotated[int, "how many answers of models"] = 0
    input_tokens: int = 0
    cached_tokens: Annotated[int, "of the input"] = 0
    output_tokens: int = 0
    reasoning_tokens: Annotated[int, "of the output"] = 0
    cost_usd: Annotated[float | None, "of the answers with a known price; None: of none"] = None
    unpriced: Annotated[int, "answers whose price is not known"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePage:
    data: Annotated[list[UsageRecord], "days and conversations: the latest first"]
    total: Annotated[UsageRecord, "of everything that was asked for, not of this page alone"]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthStatus:
    secrets: CallerSecrets = None
    env: CallerEnv = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRecord:
    """How one provider would be asked. It never holds a credential."""

    provider: str
    state: Annotated[
        Literal["ready", "expired", "missing", "unusable"],
        "`expired`: it is renewed at the next use, if it can be; `unusable`: the note says why",
    ]
    source: Annotated[
        str | None, "where the credential comes from: a variable, a file, a command, a sign-in"
    ] = None
    valid_until_at: Annotated[float | None, "None: as long as the provider takes it"] = None
    account: Annotated[str | None, "whose sign-in it is, where the credential says so"] = None
    note: Annotated[str | None, "what to know or to do, a sentence or more"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthPage:
    data: list[AuthRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSet:
    provider: str
    key: Annotated[str, "the key; kept in a file of mode 0600"] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRef:
    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthChanged:
    provider: str
    changed: Annotated[bool, "False: there was nothing to change"]
    path: Annotated[str, "the file that holds it, or held it"]
    note: Annotated[str | None, "what to know, a sentence or more"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthLogin:
    provider: Annotated[str, "`chatgpt`, `copilot`, or a configured provider with such an `auth`"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthLoginResult:
    """A sign-in that has begun; `auth/wait` sees it through."""

    login_id: str
    url: Annotated[str, "to open in a browser"]
    user_code: Annotated[str | None, "to type in there"] = None
    can_paste: Annotated[
        bool, "the address that the browser ends at may be given to `auth/wait`, from anywhere"
    ] = False
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthWait:
    login_id: str
    pasted: Annotated[str | None, "the address that the browser ended at"] = field(
        default=None, repr=False
    )
    timeout_s: Annotated[float, "answer after this long even if it is not over"] = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthWaitResult:
    state: Literal["pending", "done"]
    account: str | None = None
    path: Annotated[str | None, "the file that holds the sign-in"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRead:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReadResult:
    path: str
    settings: Map
    warnings: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigWrite:
    key: Annotated[str, "a dotted name, such as `default_model`"]
    value: Annotated[Any, "the new value; None removes the key"] = None
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    pid: int
    version: str
    protocol: int
    boot_id: str
    uptime_s: float
    rss_bytes: int
    sessions: Annotated[int, "conversations in memory"]
    jobs: Annotated[int, "jobs that are not over"]
    clients: int
    socket: str
    data: Annotated[str, "the data directory"]
    sqlite: Annotated[str, "the version of SQLite"]
    draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedRecord:
    """One conversation with records that cannot be read."""

    conversation_id: str
    unreadable: Annotated[int, "records that make no sense"]
    lost: Annotated[int, "records that are not there: nothing can be added to it"]
    first: Annotated[str, "the first of them, in words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorRecord:
    """The files that mirror conversations."""

    directory: Annotated[str | None, "none: they are not written"]
    mirrored: Annotated[int, "conversations whose file holds all of them"]
    behind: int
    trouble: Annotated[str | None, "why something cannot be written"] = None
    strays: Annotated[int, "files of askd's about conversations that are not here"] = 0
    missing: Annotated[int, "files that were not there; they are written again"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonCheck:
    problems: Annotated[list[str], "what is wrong with the database, in SQLite's words"]
    strays: Annotated[int, "rows that refer to what is not there"]
    conversations: int
    records: Annotated[int, "events that were looked at"]
    unreadable: Annotated[int, "events that make no sense"]
    lost: Annotated[int, "events that are not there"]
    damaged: Annotated[list[DamagedRecord], "the first 20 conversations with such events"]
    complete: Annotated[bool, "there was time to look at everything"]
    database_bytes: int
    wal_bytes: Annotated[int, "of the write-ahead log"]
    python: Annotated[str, "the version of Python"]
    rollouts: Annotated[MirrorRecord | None, "none: nobody could say"] = None
    recoverable: Annotated[
        bool | None, "a rollout holds one of the unreadable events; none: nobody knows"
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStop:
    wait_s: Annotated[float, "how long running turns may take to end by themselves"] = 20.0


class Method(NamedTuple):
    """One method: the shapes of its parameters and result, and what it does."""

    params: type
    result: type
    text: str


METHODS: dict[str, Method] = {
    "hello": Method(
        Hello,
        HelloResult,
        "Say who you are. Always the first request; the next may follow in the same write.",
    ),
    "turn/start": Method(
        TurnStart,
        TurnStartResult,
        "Accept a prompt. The answer means that it is stored and will get exactly one turn.",
    ),
    "turn/interrupt": Method(
        TurnRef, TurnState, "Stop a running turn; what it said so far is kept."
    ),
    "turn/withdraw": Method(TurnRef, TurnState, "Take a queued prompt back."),
    "turn/wait": Method(TurnWait, TurnState, "Answer when the turn is over."),
    "question/answer": Method(QuestionAnswer, Done, "Answer a question; the first answer wins."),
    "conversation/create": Method(
        ConversationCreate, ConversationSummary, "Create an empty conversation."
    ),
    "conversation/list": Method(
        ConversationList, ConversationPage, "List conversations, the newest first."
    ),
    "conversation/read": Method(ConversationRead, EventPage, "Read a page of events."),
    "conversation/subscribe": Method(
        ConversationSubscribe,
        SubscribeResult,
        "Read events up to the last one and get every later one as a notification.",
    ),
    "conversation/unsubscribe": Method(ConversationRef, Done, "Get no more notifications."),
    "conversation/resolve": Method(
        ConversationResolve, ConversationSummary, "Find the conversation that is meant."
    ),
    "conversation/note": Method(
        ConversationNote, Done, "Keep a notice: people see it, models never do."
    ),
    "conversation/rename": Method(ConversationRename, ConversationSummary, "Change the name."),
    "conversation/clear": Method(
        ConversationRef, Done, "Begin with an empty view; the log keeps everything."
    ),
    "conversation/compact": Method(
        ConversationCompact,
        CompactResult,
        "Have a model's summary stand for the older turns; turns go on meanwhile.",
    ),
    "conversation/prune": Method(
        ConversationPrune,
        PruneResult,
        "Take old tool outputs, exchanges and turns out of the view, as far as it is too large.",
    ),
    "conversation/undo": Method(
        ConversationRef, UndoResult, "Take the last compaction or pruning of the view back."
    ),
    "conversation/fork": Method(
        ConversationFork,
        ConversationSummary,
        "Begin another conversation with what was said in this one.",
    ),
    "conversation/pin": Method(
        ConversationPin,
        ConversationSummary,
        "Keep: a message in the view, whatever else leaves it; a conversation from clean-ups.",
    ),
    "conversation/unpin": Method(ConversationPin, ConversationSummary, "Take a pin away."),
    "conversation/search": Method(
        ConversationSearch, SearchPage, "Find what was said, the newest first."
    ),
    "conversation/context": Method(
        ConversationContext, ContextPage, "Show what the next request will hold."
    ),
    "conversation/delete": Method(
        ConversationDelete, Deletion, "Delete a conversation and all that belongs to it."
    ),
    "conversation/scrub": Method(
        ConversationScrub,
        ScrubResult,
        "Replace a text in everything that is stored. Where a turn is at work it is refused, and "
        "nothing is changed.",
    ),
    "conversation/export": Method(
        ConversationExport, ExportChunk, "Read a conversation as a file, chunk by chunk."
    ),
    "conversation/import": Method(
        ConversationImport,
        ImportResult,
        "Send a file, chunk by chunk; the last one makes a conversation of it, or an error says "
        "why not and nothing is made.",
    ),
    "backup/list": Method(
        BackupList, BackupPage, "List copies of the database: they hold what was deleted since."
    ),
    "backup/remove": Method(BackupRef, Done, "Remove a copy of the database."),
    "blob/put": Method(BlobPut, BlobPutResult, "Send a chunk of content too large for a message."),
    "blob/read": Method(BlobRead, BlobReadResult, "Read a chunk of such content."),
    "job/list": Method(JobList, JobPage, "List background jobs, the newest first."),
    "job/read": Method(
        JobRef, JobRecord, "Read one background job, with its failures and its question."
    ),
    "job/wait": Method(JobWait, JobWaitResult, "Answer when background jobs are over."),
    "job/cancel": Method(
        JobRef, JobRecord, "End a background job; what it was about to do is not done."
    ),
    "job/retry": Method(
        JobRetry,
        JobRecord,
        "Run a job now, with all its tries, that was cancelled or discarded, or waits for a try; "
        "of a turn the answer is another job.",
    ),
    "job/stats": Method(
        Empty, JobStats, "Count background jobs, and what was done since the daemon started."
    ),
    "model/list": Method(ModelList, ModelPage, "List the models of every provider at hand."),
    "model/refresh": Method(ModelList, ModelPage, "The same, asking the providers anew."),
    "usage/read": Method(UsageRead, UsagePage, "Add up the tokens that answers took, and cost."),
    "auth/status": Method(
        AuthStatus, AuthPage, "Say where each provider's credential comes from, never what it is."
    ),
    "auth/set": Method(AuthSet, AuthChanged, "Keep a provider's key in a file of mode 0600."),
    "auth/logout": Method(AuthRef, AuthChanged, "Forget a provider's kept key or sign-in."),
    "auth/login": Method(AuthLogin, AuthLoginResult, "Begin to sign in at a provider."),
    "auth/wait": Method(AuthWait, AuthWaitResult, "Wait for a sign-in's end."),
    "config/read": Method(ConfigRead, ConfigReadResult, "Read the settings that are in force."),
    "config/write": Method(ConfigWrite, ConfigReadResult, "Change one setting in the file."),
    "daemon/status": Method(Empty, DaemonStatus, "How the daemon is."),
    "daemon/check": Method(
        Empty, DaemonCheck, "Look whether everything that is stored can be read; takes seconds."
    ),
    "daemon/drain": Method(
        DaemonStop, Done, "Accept no more prompts, let turns end, then exit. Frozen from version 1."
    ),
    "daemon/stop": Method(DaemonStop, Done, "Stop: as drain, then interrupt what still runs."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNotification:
    """One appended record; the fields of its type stand beside these."""

    conversation_id: str
    seq: int
    at: float
    type: str
    version: int
    left_out: Annotated[
        str | None, "why fields are missing: the whole event does not fit one message"
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaNotification:
    """A streamed fragment. Print only what is beyond your own offset."""

    conversation_id: str
    turn_id: str
    item_id: str
    kind: Literal["text", "reasoning", "arguments"]
    offset: Annotated[int, "where the text begins, in code points"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GapNotification:
    """You were too slow and deltas were dropped: subscribe again after your last seq."""

    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUnsavedNotification:
    """The turn is over and could not be stored; no `turn_finished` event follows."""

    conversation_id: str
    turn_id: str
    outcome: str
    code: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressNotification:
    """Something takes its time, or was decided for you; a sentence for people."""

    conversation_id: str
    turn_id: str
    kind: Literal["model_chosen", "model_loading", "retrying", "waiting", "warning", "overflow"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionNotification:
    """A summary is being written for the older turns, or that has ended; a sentence for people."""

    conversation_id: str
    state: Literal["started", "finished", "failed"]
    text: str
    tokens_before: Annotated[int | None, "of the next request, about"] = None
    tokens_after: int | None = None


class Notification(NamedTuple):
    """One notification: its shape and when it comes."""

    params: type
    text: str


NOTIFICATIONS: dict[str, Notification] = {
    "event": Notification(EventNotification, "An event was committed."),
    "delta": Notification(DeltaNotification, "A model said something."),
    "gap": Notification(GapNotification, "Deltas were dropped; events never are."),
    "turn_unsaved": Notification(TurnUnsavedNotification, "A turn ended and could not be stored."),
    "progress": Notification(ProgressNotification, "A turn waits for something, or chose it."),
    "compaction": Notification(CompactionNotification, "A compaction has begun, or ended."),
}
