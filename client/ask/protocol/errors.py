"""Errors on the wire: exit codes, the words for programs, the sentences for people.

An error is `{code, message, data}`. `code` is the exit code that the command
line ends with; `data.reason` is a word from `REASONS` that a program can match.
"""

DONE = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
CREDENTIALS = 4
RATE_LIMITED = 5
APPROVAL_NEEDED = 6
OVERFLOW = 7
BUSY = 8
CUT = 9
NO_DAEMON = 69
STORAGE = 74
TIME_LIMIT = 124
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143

EXIT_CODES: dict[int, str] = {
    DONE: "done (also when a person said no)",
    FAILED: "the turn failed, was refused, or someone else interrupted it; "
    "invalid schema output; no code block for -x; a search found nothing; "
    "a job was cancelled or failed",
    USAGE: "wrong usage: also an unknown model, an empty prompt, "
    "an unreadable or binary file, a bad configuration",
    NOT_FOUND: "no such conversation, job, schedule, snapshot, server or template, "
    "or more than one",
    CREDENTIALS: "no or wrong credentials, or no provider",
    RATE_LIMITED: "rate limited",
    APPROVAL_NEEDED: "an approval was needed and could not be asked for",
    OVERFLOW: "the conversation or the prompt does not fit the model's window, and compacting did "
    "not help, or what to do had to be asked and could not be",
    BUSY: "the conversation is busy",
    CUT: "the answer was cut by a length limit",
    NO_DAEMON: "no daemon, or one that speaks another protocol",
    STORAGE: "storage failed",
    TIME_LIMIT: "the time limit was reached",
    INTERRUPTED: "interrupted",
    PIPE_CLOSED: "standard output was closed; the turn goes on",
    TERMINATED: "terminated",
}

REASONS: dict[str, int] = {
    # the message itself
    "malformed": USAGE,  # no valid MessagePack-RPC message, or one over a limit
    "unknown_method": USAGE,
    "bad_params": USAGE,
    "hello_needed": USAGE,
    "wrong_protocol": NO_DAEMON,
    "other_data": NO_DAEMON,  # this daemon serves another data directory
    "draining": NO_DAEMON,
    "too_many_connections": BUSY,
    "not_permitted": NO_DAEMON,
    "bad_socket": NO_DAEMON,
    "internal": FAILED,
    # the command line itself; never on the wire
    "usage": USAGE,
    "bad_input": USAGE,  # a file or standard input: unreadable, no text, or too large
    "bad_template": USAGE,
    "template_not_found": NOT_FOUND,
    "bad_output": USAGE,  # -o: refused before anything was asked
    "no_code_block": FAILED,
    "output_failed": STORAGE,
    "no_daemon": NO_DAEMON,
    # conversations and turns
    "conversation_not_found": NOT_FOUND,
    "conversation_ambiguous": NOT_FOUND,
    "no_terminal": NOT_FOUND,
    "turn_not_found": NOT_FOUND,
    "question_not_found": NOT_FOUND,
    "job_not_found": NOT_FOUND,
    "job_ambiguous": NOT_FOUND,
    "wrong_job_state": USAGE,  # what is over, or runs, cannot be tried again just so
    "schedule_not_found": NOT_FOUND,
    "schedule_ambiguous": NOT_FOUND,
    "bad_cron": USAGE,
    "bad_zone": USAGE,
    "not_installed": FAILED,  # a part that an extra brings; the sentence has the command
    "item_not_found": NOT_FOUND,
    "blob_not_found": NOT_FOUND,
    "backup_not_found": NOT_FOUND,
    "bad_backup": USAGE,  # what is to be restored is no copy of a database
    "snapshot_not_found": NOT_FOUND,
    "snapshot_ambiguous": NOT_FOUND,
    "server_not_found": NOT_FOUND,  # of tools: it is not configured
    "prompt_not_found": NOT_FOUND,  # of such a server
    "server_failed": FAILED,  # one of tools: it does not start, or will not do what was asked
    "no_face": USAGE,  # mcp/open was not said, or it has ended
    "bad_name": USAGE,
    "name_taken": USAGE,
    "empty_prompt": USAGE,
    "key_reused": USAGE,
    "bad_blob": USAGE,
    "bad_import": FAILED,  # a file in which nothing can be read, or nobody says anything
    "busy": BUSY,
    "overflow": OVERFLOW,
    "compaction_failed": FAILED,  # the history is as it was
    "storage_failed": STORAGE,
    "search_damaged": STORAGE,  # the index of words, which is built anew; no conversation is
    "log_not_whole": STORAGE,  # records are missing: it can be read, and nothing be added to it
    "turn_failed": FAILED,
    "interrupted": FAILED,
    "withdrawn": FAILED,
    "time_limit": TIME_LIMIT,
    # providers
    "unknown_model": USAGE,
    "unknown_tool": USAGE,
    "bad_config": USAGE,
    "not_configured": CREDENTIALS,
    "secrets_needed": CREDENTIALS,
    "unauthenticated": CREDENTIALS,
    "local_only": CREDENTIALS,  # the address is not this machine's, and the settings forbid it
    "login_failed": CREDENTIALS,
    "login_not_found": NOT_FOUND,
    "bad_schema": USAGE,
    "schema_mismatch": FAILED,  # the answer does not fit the schema, asked once more or not
    "rate_limited": RATE_LIMITED,
    "refused": FAILED,
    "unavailable": FAILED,
    "bad_answer": FAILED,
    "length": CUT,
}
"""Every `data.reason`, with the code that it comes with."""
