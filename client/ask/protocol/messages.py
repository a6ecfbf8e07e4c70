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
    tools: Annotated[
        list[str] | None,
        "which tools the model may use: names, patterns such as `time__*`, and the groups `all`, "
        "`read` and `none`; a conversation's first prompt says it for those that say nothing",
    ] = None
    approve: Annotated[
        Literal["deny", "ask", "auto"] | None,
        "what becomes of a tool's call that needs a person's word; `ask` without a person there "
        "ends the turn with code 6",
    ] = None
    instructions: Annotated[
        bool | None,
        "whether the instructions of the caller's project (`AGENTS.md`) are sent with it; a "
        "conversation's first prompt says it for those that say nothing",
    ] = None
    notify: Annotated[
        bool | None,
        "whether the command of `[notify]` is run when the turn ends or asks; a setting says it "
        "for detached turns that say nothing",
    ] = None
    toolless: Annotated[
        bool | None,
        "true: this turn has no tools, whatever the conversation has, which keeps what it has",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    client: Annotated[str, "the program's name"]
    version: Annotated[str, "the program's version"]
    protocol: Annotated[int, "the major version of the protocol that it speaks"]
    data: Annotated[
        str | None, "the data directory that is meant; the daemon of another one refuses"
    ] = None
    capabilities: Annotated[
        list[str] | None,
        "what it can do beyond the beginnings of this version: `attached`, hear who else is there",
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
    busy: Annotated[
        Literal["queue", "steer", "fail"],
        "when a turn is running or queued: wait for it, join the one that runs (else wait), or "
        "be refused",
    ] = "queue"
    ephemeral: Annotated[bool, "keep the conversation in memory only"] = False
    cwd: Annotated[str | None, "the caller's working directory"] = None
    cwd_id: Annotated[
        str | None, "its device and inode, `DEVICE:INODE`: tools run in it and in no other"
    ] = None
    far: Annotated[
        bool,
        "the caller is on another machine: `cwd` is a directory of this one, and must be there",
    ] = False
    env: Annotated[
        dict[str, str] | None,
        "the caller's variables, allow-listed; null: the daemon's, which from afar stand for those "
        "that are missing",
    ] = None
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
    steers: Annotated[
        str | None,
        "where it joined a turn that ran, which `turn_id` names: the id of its message. What is "
        "said in the turn before the `item_added` of that message is no answer to it",
    ] = None
    warning: Annotated[
        str | None, "what is not as it was asked for, where nobody follows: a sentence"
    ] = None


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
    reason: Annotated[
        str | None, "why, in at most 1,000 characters; a model is told of a refused call"
    ] = None
    content: Annotated[
        dict[str, Any] | None, "with `accept` of an elicitation: what was asked for"
    ] = None


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
class AttachedClient:
    """Who follows a conversation: a chat, `ask attach`, a prompt that is waited for, a program."""

    client: Annotated[str, "what the program calls itself, at most 24 characters"]
    pid: Annotated[int | None, "its process, as the kernel says"] = None
    tty: Annotated[str | None, "that process's terminal, as `pts/3`; None: it has none"] = None
    interactive: Annotated[bool, "a person is there who could answer questions"] = False


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
    attached: Annotated[int, "how many connections follow it"] = 0
    clients: Annotated[list[AttachedClient], "the first 8 of them, as they came"] = field(
        default_factory=list
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList:
    cursor: Cursor = None
    limit: Limit = 50
    live: Annotated[bool, "only those that the daemon has in memory"] = False
    before_at: Annotated[
        float | None, "only stored ones in which nothing has changed since this time"
    ] = None
    begins: Annotated[str | None, "only stored ones whose name or id begins with it"] = None


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
    model: Annotated[
        str | None, "what the next prompt will ask for, where no turn runs or waits already"
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionRecord:
    """A file of instructions, as far as it is part of the system prompt."""

    path: str
    bytes: int
    left_out_bytes: Annotated[int, "of its end, for which there was no room"] = 0


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
    instructions: Annotated[
        list[InstructionRecord],
        "of the project, as the last turn got them: they stand in the system prompt",
    ] = field(default_factory=list)
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
class SnapshotList:
    conversation_id: ConversationId
    cursor: Annotated[str | None, "`next_cursor` of the page before"] = None
    limit: Annotated[int, "a page has at most 50"] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRecord:
    """Files as they were before a turn first wrote."""

    id: str
    at: Annotated[float | None, "when it was taken, unix seconds"]
    worktree: Annotated[str, "the directory"]
    commit: Annotated[str, "of git, that holds it; empty: copies of files do"]
    differ: Annotated[int | None, "how many files are another now; None: not known"]
    trouble: Annotated[str | None, "why it cannot be put back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPage:
    data: Annotated[list[SnapshotRecord], "the newest first"]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    snapshot: Annotated[str, "its id, or 4 or more characters of its beginning"]
    conversation_id: Annotated[str | None, "the one that holds it; None: whichever does"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff:
    id: str
    conversation_id: str
    worktree: str
    files: Annotated[int, "how many would be another"]
    diff: Annotated[str, "from now to then, at most 256 KiB"]
    cut: Annotated[bool, "the diff is longer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLeft:
    """A file that was not put back, or not removed."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRestored:
    id: str
    conversation_id: str
    worktree: str
    put: Annotated[int, "files that are as they were"]
    removed: Annotated[int, "files that were made since"]
    left: Annotated[list[SnapshotLeft], "files that stay as they are, the first 500"]
    left_total: int
    before: Annotated[str | None, "the snapshot of what was there; None: nothing was another"]


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
    needs_you: Annotated[bool, "listed or read: its turn waits for a person to decide"] = False
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


ScheduleText = Annotated[
    str,
    "its id, 4 or more characters of the beginning of it, its name, or the conversation it prompts",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleAdd:
    cron: Annotated[
        str, "when: minute hour day-of-month month day-of-week, or `@daily` and the like"
    ]
    parts: Annotated[list[PromptPart], "what is asked; texts only, at most 256 KiB together"]
    options: Annotated[TurnOptions, "as of `turn/start`; it is a detached turn"] = TurnOptions()
    zone: Annotated[
        str | None, "by whose wall clock, as in `Europe/Berlin`; null: the machine's"
    ] = None
    name: Annotated[str | None, "what to call the schedule"] = None
    session: Annotated[
        str | None,
        "the conversation, by id, name or prefix; a new name is created at the first time. Null: "
        "each time begins a conversation",
    ] = None
    missed: Annotated[
        Literal["skip", "once", "all"],
        "what becomes of times at which no daemon was there: nothing, one prompt for all of them, "
        "or one for each of the last 24",
    ] = "once"
    cwd: Annotated[str | None, "where tools run"] = None
    cwd_id: Annotated[str | None, "its device and inode, `DEVICE:INODE`"] = None
    far: Annotated[bool, "the caller is on another machine: `cwd` is a directory of this one"] = (
        False
    )
    env: CallerEnv = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRecord:
    """What was done about one time of a schedule."""

    slot: Annotated[float | None, "the time that it was for; null: somebody had it sent"]
    state: Annotated[
        Literal[
            "skipped", "refused", "accepted", "completed", "failed", "interrupted", "withdrawn"
        ],
        "`skipped`, `refused`: nothing was sent; `accepted`: the turn is not over; else its end",
    ]
    at: Annotated[float, "when that was"]
    skipped: Annotated[int, "times before it that got nothing; with `skipped` itself among them"]
    finished_at: float | None = None
    job_id: Annotated[str | None, "the turn, which is a job"] = None
    conversation_id: str | None = None
    code: Annotated[int | None, "the exit code of the turn, or of the refusal"] = None
    error: Annotated[str | None, "what went wrong"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRecord:
    id: str
    name: str | None
    cron: str
    zone: str
    missed: Literal["skip", "once", "all"]
    session: str | None
    conversation_id: Annotated[str | None, "of `session`, once it is there"]
    prompt: Annotated[str, "its words; of a list the beginning"]
    model: str | None
    created_at: float
    next_at: Annotated[float | None, "its next time; null: it is paused, or has trouble"] = None
    paused_at: float | None = None
    trouble: Annotated[str | None, "why nothing is sent: a sentence"] = None
    last: Annotated[SlotRecord | None, "what was done last"] = None
    slots: Annotated[
        list[SlotRecord] | None, "`schedule/read`: what was done lately, the last first"
    ] = None
    options: Annotated[Map | None, "`schedule/read`: what of its options was said"] = None
    cwd: str | None = None
    warning: Annotated[
        str | None, "`schedule/add`: why its prompt would be refused as things are"
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage:
    data: list[ScheduleRecord]
    next_cursor: Annotated[str | None, "always null: there are 200 at the most"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRef:
    schedule: ScheduleText


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRun:
    schedule: ScheduleText
    key: Annotated[str, "1 to 128 characters made by the client: the same key is the same turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    secrets: CallerSecrets = None
    env: CallerEnv = None
    begins: Annotated[
        str | None,
        "only those, and aliases, that begin with it, of what was listed before: no provider is "
        "asked; a record holds the names alone",
    ] = None


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
class ToolList:
    conversation_id: Annotated[str | None, "what is offered there; None: by the settings"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    name: str
    description: Annotated[str, "when to use it, in words for a model"]
    effects: Annotated[bool, "running it twice could differ from running it once"]
    needs: Annotated[
        Literal["deny", "ask", "auto"], "what its calls need as a rule, where the settings say none"
    ]
    policy: Annotated[
        Literal["deny", "ask", "auto"] | None, "what the settings say of this tool"
    ] = None
    enabled: Annotated[bool, "a prompt that says nothing of tools offers it"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfinement:
    kind: Literal["bubblewrap", "landlock", "none"]
    text: Annotated[str, "what a command is kept from, for people"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPage:
    data: list[ToolRecord]
    enabled: Annotated[list[str], "the words that say what is offered: names, patterns, groups"]
    enabled_by: Annotated[Literal["conversation", "settings"], "who says so"]
    confinement: Annotated[ToolConfinement, "of commands, as this daemon found it"]
    policy: Annotated[
        Literal["deny", "ask", "auto"] | None,
        "what becomes of a call that needs a person's word; None: asked on a terminal, else denied",
    ] = None
    tools: Annotated[
        Map, "the settings' rules by tool or pattern, of tools that are not there, too"
    ]
    commands: Annotated[Map, "the settings' rules by the first words of a command"]
    servers: Annotated[
        list[str], "the servers that may offer tools; of one that never ran none is known"
    ] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpRecord:
    """One configured server of tools. It never holds a credential."""

    name: Annotated[str, "as the settings call it; it stands before the names of its tools"]
    kind: Annotated[Literal["stdio", "http"], "a program that is started, or an address"]
    state: Annotated[
        Literal["off", "idle", "starting", "ready", "failed"],
        "`off`: not enabled; `idle`: nobody has needed it; `failed`: tried again when needed",
    ]
    tools: Annotated[int, "how many it listed last"]
    offered: Annotated[int, "how many of them a prompt can have"]
    version: Annotated[str | None, "as it says itself"] = None
    pid: Annotated[int | None, "of its process, if one runs here"] = None
    resources: Annotated[bool, "it offers something to read"] = False
    prompts: Annotated[bool, "it offers prompts"] = False
    error: Annotated[str | None, "why it could not be started, or ended; a sentence"] = None
    at: Annotated[float | None, "when it was last heard of; None: never"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPage:
    data: Annotated[list[McpRecord], "in the order of the settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpRef:
    server: Annotated[str, "its name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """A tool, as its server describes it: words of others."""

    name: Annotated[str, "that models are told, and `-T` takes: `server__tool`"]
    description: Annotated[str, "its beginning, at most 400 characters"]
    offered: Annotated[bool, "False: the settings keep it back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTestResult:
    server: McpRecord
    data: Annotated[list[McpTool], "its tools, the first 500"]
    log: Annotated[str, "if it failed: the end of what it wrote to its standard error"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSignedOut:
    server: str
    changed: Annotated[bool, "False: nobody was signed in"]
    path: Annotated[str, "the file that held the sign-in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLogs:
    text: Annotated[str, "the end of what it wrote to its standard error, at most 256 KiB"]


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
class McpResources:
    server: Annotated[str, "its name in the settings"]
    cwd: Annotated[str | None, "the caller's directory, for servers that ask for one"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResourceRecord:
    """What a server offers to read; its names and descriptions are the server's."""

    uri: Annotated[str, "with `{name}` in it: a template, to be filled in"]
    name: str
    description: str
    media_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResourcePage:
    data: list[McpResourceRecord]
    left_out: Annotated[int, "how many more there are than one answer holds"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResource:
    server: Annotated[str, "its name in the settings"]
    uri: str
    cwd: Annotated[str | None, "the caller's directory, for servers that ask for one"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResourceResult:
    """A resource as a prompt takes it; its blobs wait with this connection, for `blob/read` too."""

    parts: list[PromptPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPrompts:
    server: Annotated[str, "its name in the settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPromptArgument:
    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPromptRecord:
    """A prompt that a server offers; its names and descriptions are the server's."""

    name: str
    description: str
    arguments: list[McpPromptArgument]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPromptPage:
    data: list[McpPromptRecord]
    left_out: Annotated[int, "how many more there are than one answer holds"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPrompt:
    server: Annotated[str, "its name in the settings"]
    name: str
    arguments: Annotated[dict[str, str] | None, "by their names"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPromptMessage:
    role: Annotated[str, "`user` or `assistant`"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPromptResult:
    messages: list[McpPromptMessage]


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
    value: Annotated[Any, "the new value; None removes the key"] = field(default=None, repr=False)
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
class NotifyTest:
    send: Annotated[bool, "send one, which is about nothing"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyState:
    """Whether anybody can be notified, and with what."""

    state: Annotated[
        Literal["ready", "off", "missing", "failed"],
        "`ready`: there is a command; `off`: the settings name none; `missing`: it is not there, "
        "or has nobody to show anything; `failed`: it was run, and went wrong",
    ]
    text: Annotated[str, "the command, or what is wrong: a sentence"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOpen:
    """What holds for all prompts of the face; a call may name another conversation or model."""

    conversation: Annotated[
        str | None, "id, name or prefix of the one that is asked in where a call names none"
    ] = None
    model: Annotated[str | None, "`provider/model` or an alias"] = None
    tools: Annotated[list[str] | None, "as in a prompt's options"] = None
    approve: Annotated[Literal["deny", "ask", "auto"] | None, "as in a prompt's options"] = None
    cwd: Annotated[str | None, "where tools run"] = None
    cwd_id: Annotated[str | None, "its device and inode, `DEVICE:INODE`"] = None
    env: CallerEnv = None
    secrets: CallerSecrets = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSend:
    bytes: Annotated[bytes, "the next piece of a line of JSON-RPC, without the line's end"]
    more: Annotated[bool, "the line goes on in the next one"] = False


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
        "Accept a prompt. The answer means that it is stored, and gets or has joined one turn.",
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
    "snapshot/list": Method(
        SnapshotList, SnapshotPage, "List the snapshots of a conversation, and how they differ."
    ),
    "snapshot/diff": Method(
        SnapshotRef, SnapshotDiff, "Show what putting a snapshot back would change."
    ),
    "snapshot/restore": Method(
        SnapshotRef,
        SnapshotRestored,
        "Put a snapshot back. What was there before becomes one, too. Refused while a turn of its "
        "conversation is at work.",
    ),
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
    "schedule/add": Method(
        ScheduleAdd,
        ScheduleRecord,
        "Have the daemon send a prompt at certain times, with its own keys: none is stored.",
    ),
    "schedule/list": Method(Empty, SchedulePage, "List schedules, the oldest first."),
    "schedule/read": Method(ScheduleRef, ScheduleRecord, "Read one, with what it did lately."),
    "schedule/run": Method(
        ScheduleRun, TurnStartResult, "Send its prompt now, whether it is paused or not."
    ),
    "schedule/pause": Method(ScheduleRef, ScheduleRecord, "Send nothing until it is resumed."),
    "schedule/resume": Method(
        ScheduleRef, ScheduleRecord, "Go on with its next time; a pause passes times over."
    ),
    "schedule/remove": Method(
        ScheduleRef, ScheduleRecord, "Forget it; what it has sent stays. Answers with what it was."
    ),
    "model/list": Method(ModelList, ModelPage, "List the models of every provider at hand."),
    "model/refresh": Method(ModelList, ModelPage, "The same, asking the providers anew."),
    "tool/list": Method(
        ToolList, ToolPage, "List the tools, what the settings say of each, and the confinement."
    ),
    "mcp/resources": Method(
        McpResources, McpResourcePage, "List what a server of tools offers to read."
    ),
    "mcp/resource": Method(McpResource, McpResourceResult, "Read what such a server offers."),
    "mcp/prompts": Method(McpPrompts, McpPromptPage, "List the prompts of such a server."),
    "mcp/prompt": Method(McpPrompt, McpPromptResult, "Have one of them filled in."),
    "mcp/list": Method(
        Empty, McpPage, "List the configured servers of tools, as they are; none is started."
    ),
    "mcp/test": Method(
        McpRef,
        McpTestResult,
        "Start a server, or ask it for its tools anew if it runs, and say how it is; if it does "
        "not answer it is started anew. That takes as long as its settings let it; one that fails "
        "is an answer, too.",
    ),
    "mcp/logs": Method(McpRef, McpLogs, "Read what a server wrote to its standard error."),
    "mcp/login": Method(
        McpRef, AuthLoginResult, "Begin to sign in at a server; `auth/wait` sees it through."
    ),
    "mcp/logout": Method(McpRef, McpSignedOut, "Forget the sign-in at a server."),
    "notify/test": Method(
        NotifyTest, NotifyState, "Say with what notifications are sent, and send one to see it."
    ),
    "usage/read": Method(UsageRead, UsagePage, "Add up the tokens that answers took, and cost."),
    "auth/status": Method(
        AuthStatus, AuthPage, "Say where each provider's credential comes from, never what it is."
    ),
    "auth/set": Method(AuthSet, AuthChanged, "Keep a provider's key in a file of mode 0600."),
    "auth/logout": Method(AuthRef, AuthChanged, "Forget a provider's kept key or sign-in."),
    "auth/login": Method(AuthLogin, AuthLoginResult, "Begin to sign in at a provider."),
    "auth/wait": Method(AuthWait, AuthWaitResult, "Wait for a sign-in's end."),
    "mcp/open": Method(
        McpOpen, Done, "Make this connection a server of MCP: the daemon as tools for a program."
    ),
    "mcp/send": Method(
        McpSend,
        Done,
        "Say a line to it, or a piece of one; send the next when this is answered.",
    ),
    "mcp/close": Method(Empty, Done, "End it; turns that were asked for by it go on."),
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
    kind: Literal[
        "model_chosen", "model_loading", "retrying", "waiting", "warning", "overflow", "tool"
    ]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionNotification:
    """A summary is being written for the older turns, or that has ended; a sentence for people."""

    conversation_id: str
    state: Literal["started", "finished", "failed"]
    text: str
    tokens_before: Annotated[int | None, "of the next request, about"] = None
    tokens_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedNotification:
    """Who follows the conversation now, you among them; for those who said `attached` in `hello`.

    It comes when you have subscribed, and whenever someone comes or leaves.
    """

    conversation_id: str
    attached: Annotated[int, "how many connections follow it"]
    clients: Annotated[list[AttachedClient], "the first 8 of them, as they came"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpMessageNotification:
    """A piece of a line that the face says; write the line when it is whole."""

    bytes: bytes
    more: Annotated[bool, "the line goes on in the next one"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClosedNotification:
    """The face has ended by itself; a sentence for people."""

    message: str


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
    "attached": Notification(AttachedNotification, "Someone has come, or left."),
    "mcp/message": Notification(McpMessageNotification, "The connection's face says a line."),
    "mcp/closed": Notification(McpClosedNotification, "The connection's face has ended."),
}
