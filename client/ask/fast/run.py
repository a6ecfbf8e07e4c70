"""One prompt the short way: read stdin, ask, stream the answer, leave.

Everything unusual ends in a `Carried`: no daemon, a refusal, a lost connection,
a large input. The long way (`ask.commands.prompt`) goes on from it with the same
key, so that nothing is asked twice. It never prints an error of the daemon's.
"""

import os
import sys
import time

from ask.fast import caller, codec
from ask.fast.codec import Answer

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping
    from typing import Any

    from ask.fast.argv import Words
    from ask.markdown.first import First
    from ask.terminal import ControlFilter
else:
    import _signal  # in C, and loaded already; `signal` itself would bring `enum`

CHUNK_BYTES = 16 * 1024
GRACE_S = 10.0
"""How long after `--timeout` nothing is waited for any more, whatever the daemon does."""
STOP_AFTER_S = 5.0
"""How long after `--timeout` the daemon may take to end a turn that runs; then we ask for it."""
SILENT_S = 1.0
"""How long after `--timeout` a daemon that says nothing at all is left to the long way."""
DETACHED = "Detached; the turn was asked to stop.\n"
"""What a person is told who pressed Ctrl-C twice."""

DONE, INTERRUPTED, PIPE_CLOSED, TERMINATED = 0, 130, 141, 143
_STOP_ID = 3  # of the request that may follow hello and the prompt


class Carried:
    """What the short way had done when it gave up; the long way goes on from there.

    Attributes:
        key: of the prompt; it may have been sent.
        stdin: what was read of standard input; None: nothing was tried.
        more: standard input was not read to its end.
        refusal: the daemon's error to the prompt.
        answer: what has been accepted and shown.
        broken: why standard output cannot be written.
        filter: the state of the control sequences in it.
        live: what shows the answer on a terminal, painted; None: it is written as it comes.
        held: a descriptor of the connection: its person is still there until the long way listens.
        progress: a `progress` or `compaction` notification that needs more than a line.
        unsaved: the `turn_unsaved` notification that ended the turn.
        interrupted: the turn has been asked to stop.
        deadline: when `--timeout` has passed, in monotonic seconds.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.stdin: bytes | None = None
        self.more = False
        self.refusal: dict[str, Any] | None = None
        self.answer: Answer | None = None
        self.broken: str | None = None
        self.filter: ControlFilter | None = None
        self.live: First | None = None
        self.held: int | None = None
        self.progress: dict[str, Any] | None = None
        self.unsaved: dict[str, Any] | None = None
        self.interrupted = False
        self.deadline: float | None = None


def run_prompt(words: "Words", environ: "Mapping[str, str]") -> "int | Carried":
    """Ask and show the answer: the exit code, or what the long way goes on from."""
    turn = _Turn(words, Carried(words.key or caller.make_key()))
    before = turn.install()
    try:
        result = turn.run(environ)
    except caller.StdoutClosed:
        return PIPE_CLOSED
    except caller.StdoutFailed as failure:
        turn.carried.broken = str(failure)
        result = turn.carried
    finally:
        if turn.stream is not None:
            turn.stream.close()
    if isinstance(result, Carried):
        for number, handler in before:
            _signal.signal(number, handler)
    return result


class _Turn:
    """The run of one prompt: its socket, its signals, its output."""

    def __init__(self, words: "Words", carried: Carried) -> None:
        self.words = words
        self.carried = carried
        self.stream: Any = None
        self.ready: list[str] = []
        self.plain = words.raw and not os.isatty(1)

    def install(self) -> "list[tuple[int, Any]]":
        """Take the signals over, except those that the caller ignores (`nohup`, `&`)."""
        wanted: dict[int, Any] = {_signal.SIGINT: self.interrupt}
        wanted |= dict.fromkeys((_signal.SIGTERM, _signal.SIGHUP), self.terminate)
        heeded = [each for each in wanted if _signal.getsignal(each) != _signal.SIG_IGN]
        return [(number, _signal.signal(number, wanted[number])) for number in heeded]

    def terminate(self, number: int, frame: object) -> None:
        """SIGTERM, or the terminal is gone: leave; an accepted turn goes on."""
        os._exit(TERMINATED)

    def interrupt(self, number: int, frame: object) -> None:
        """Ctrl-C: stop the turn and wait for its end; the second one leaves."""
        if self.carried.interrupted or self.stream is None:
            if os.isatty(2):
                caller.say("\n")  # the terminal has shown ^C
            if self.stream is not None and not self.words.quiet:
                caller.say(DETACHED)
            os._exit(INTERRUPTED)
        self.carried.interrupted = True
        if self.carried.answer is not None:
            self.stop()

    def stop(self) -> None:
        """Interrupt the turn; one that is still queued is withdrawn by that."""
        answer = self.carried.answer
        assert answer is not None
        reference = {"conversation_id": answer.conversation_id, "turn_id": answer.turn_id}
        try:
            self.stream.sendall(codec.encode([0, _STOP_ID, "turn/interrupt", [reference]]))
        except OSError:
            return  # the connection is lost; the next read finds out

    def run(self, environ: "Mapping[str, str]") -> "int | Carried":
        words, carried = self.words, self.carried
        if words.timeout is not None:
            carried.deadline = time.monotonic() + float(words.timeout)
        if not words.no_stdin and caller.has_input():
            from ask.fast import stdin

            try:
                found = stdin.read_input(quiet=words.quiet, deadline=carried.deadline)
            except stdin.InputLate:
                return carried
            carried.stdin, carried.more = found
        request = caller.build_request(words, carried.key, carried.stdin, environ)
        if request is None or carried.more:
            return carried
        quiet_s, over = caller.QUIET_S, None
        if carried.deadline is not None:
            over = carried.deadline + STOP_AFTER_S
            left_s = max(carried.deadline - time.monotonic(), 0.0)
            quiet_s = min(left_s + SILENT_S, quiet_s)
        self.stream = caller.open_socket(environ, quiet_s=quiet_s)
        if self.stream is None:
            return carried
        decoder = codec.Decoder()
        try:
            self.stream.sendall(request)
            out = sys.stdout  # Python has asked what it is, and need not have with `-u`
            if not words.raw and (out.line_buffering or getattr(out, "write_through", False)):
                from ask.markdown.first import open_first

                carried.live = open_first(environ)
            while True:
                if carried.live is not None:
                    carried.live.rest(self.stream)
                data = self.stream.recv(CHUNK_BYTES)
                if not data:
                    return carried
                for message in decoder.feed(data):
                    if (result := self.take(message)) is not None:
                        if result is carried and carried.answer is not None:
                            carried.held = os.dup(self.stream.fileno())
                        self.flush()
                        return result
                self.flush()
                if over is not None and time.monotonic() > over:
                    return carried
        except (OSError, LookupError, TypeError, ValueError):
            self.flush()
            return carried  # lost, silent, or not understood: the long way finds out which

    def take(self, message: "Any") -> "int | Carried | None":
        """Act on a message; None: there is more to come."""
        kind, carried = message[0], self.carried
        if kind == 1:
            return self.take_response(message[1], message[2], message[3])
        if kind != 2 or carried.answer is None or message[1] == "gap":
            return carried
        method, params, answer = message[1], message[2][0], carried.answer
        if method == "delta":
            if params.get("kind") == "reasoning" and not self.words.quiet and os.isatty(2):
                return carried  # it is shown dimmed, from its beginning
            self.write(answer.read_delta(params))
        elif method == "event":
            watched = codec.calls_tools(params) or codec.steers_answer(params, answer)
            watched = watched and not self.words.quiet and os.isatty(2)
            parts = carried.live is not None and codec.steers_answer(params, answer)
            if watched or parts or codec.needs_blob(params) or caller.needs_person(params):
                return carried
            self.write(answer.read_event(params))
            if answer.ended is not None:
                return self.finish(answer.ended)
        elif method in ("progress", "compaction") and not self.words.quiet:
            if params.get("turn_id", answer.turn_id) == answer.turn_id:
                kind, text = params.get("kind"), str(params.get("text", ""))
                if os.isatty(2) and kind in (None, "model_loading", "waiting"):
                    carried.progress = params
                    return carried
                if method == "progress" and (kind != "tool" or text.startswith(caller.DENIED)):
                    self.flush()
                    self.tell(text)
        elif method == "turn_unsaved" and params.get("turn_id") == answer.turn_id:
            carried.unsaved = params
            return carried
        return None

    def take_response(self, request: int, error: "Any", result: "Any") -> "Carried | None":
        """Act on an answer to one of our requests."""
        carried = self.carried
        if request == caller.HELLO_ID and (
            error is not None or result["protocol"] != caller.PROTOCOL
        ):
            return carried
        if request == caller.START_ID:
            if error is not None:
                carried.refusal = error
                return carried
            carried.answer = Answer(result)
            if result.get("position") and not self.words.quiet:
                caller.say(caller.queued(result["position"]))
            if result.get("position") and self.words.timeout is not None:
                return carried  # its time may be over before its turn has begun
            if carried.interrupted:
                self.stop()
        return None

    def finish(self, ended: "Mapping[str, Any]") -> "int | Carried":
        """The turn is over: end the line, name the conversation, choose the code."""
        carried, answer = self.carried, self.carried.answer
        outcome = ended.get("outcome")
        completed = outcome == "completed" and ended.get("code") == DONE
        stopped = carried.interrupted and outcome == "interrupted"
        if answer is None or not (completed or stopped):
            return carried  # there is something to say
        if answer.line_open:
            self.ready.append("\n")
        self.flush()
        if carried.live is not None:
            carried.live.finish()
        if stopped and os.isatty(2) and not (answer.line_open and os.isatty(1)):
            caller.say("\n")  # the terminal has shown ^C
        if not self.words.quiet:
            caller.say(f"{answer.conversation_id[:8]}\n")
        return DONE if completed else INTERRUPTED

    def write(self, text: str) -> None:
        """Make a piece of the answer ready to be shown; what a terminal would obey is taken out."""
        carried = self.carried
        if text and not self.plain:
            if carried.filter is None and not text.replace("\n", "").isprintable():
                from ask.terminal import ControlFilter  # rarely needed, and a module more

                carried.filter = ControlFilter()
            if carried.filter is not None:
                text = carried.filter.feed(text)
        self.ready.append(text)

    def tell(self, text: str) -> None:
        """A line for people, in words that may be a provider's."""
        if not text.isprintable():
            from ask.terminal import strip_controls  # rarely needed, and a module more

            text = strip_controls(text)
        if self.carried.live is not None and os.isatty(2):
            self.carried.live.pause()
        caller.say(f"{text}\n")

    def flush(self) -> None:
        """Write what is ready: one call for all that came together."""
        if self.ready:
            text = "".join(self.ready)
            self.ready.clear()
            if self.carried.live is not None:
                self.carried.live.feed(text)
            else:
                caller.write_all(1, text.encode())
