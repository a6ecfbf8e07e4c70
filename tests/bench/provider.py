"""A provider without latency: `python -m tests.bench.provider` prints its base URL and serves.

Every completion is answered with the same twenty tokens, an HTTP chunk each, as
fast as the socket takes them, so that a run measures the client and the daemon.
A prompt that holds STAMPED gets many tokens at an even pace, each the moment that
it was sent; one that holds LATE and a number thinks for so many milliseconds, and its first
token is such a moment too; a request for a summary is answered after a while; whoever asks in
the dialect Responses or Messages is answered in it; `python -m
tests.bench.provider DIALECT` gives everybody one long answer in that dialect. It
checks nothing; `tests.fakes.chat_server` and `tests.fakes.vendors` are the ones
that do. Ends with its standard input.
"""

import json
import socket
import sys
import threading
import time

from askd.core.compaction import PROMPT
from tests.fakes.vendor import Said
from tests.fakes.vendor_copilot import Copilot
from tests.fakes.vendors import VENDORS

STAMPED = b"STAMPED"
STAMPS = 400
STAMP_GAP_S = 0.004
"""Two hundred and fifty tokens a second: as a fast provider is."""

LATE = b"LATE-"
"""Before milliseconds, four digits of them."""
MOMENT = "@{}@ "
"""A first token that says when it was sent: between two marks, so that its end is known."""

SUMMARY = PROMPT.encode().split(b"\n")[0]
SUMMARY_S = 2.0
"""As a model takes for one; whatever is sent meanwhile is measured with it under way."""

FLOOD_TOKENS = 20_000

TOKENS = [f"tok{number} " for number in range(20)]
ANSWER_TEXT = "".join(TOKENS).strip()
"""What everybody is told; a run that shows something else is void."""


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"object": "chat.completion.chunk", "model": "fake", "choices": [choice]}
    return _chunk(b"data: " + json.dumps(body).encode() + b"\n\n")


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n"
ANSWER = (
    HEAD % b"text/event-stream"
    + b"".join(_event({"content": token}) for token in TOKENS)
    + _event({}, "stop")
    + _chunk(b"data: [DONE]\n\n")
    + b"0\r\n\r\n"
)
MODELS = HEAD % b"application/json" + _chunk(b'{"data": [{"id": "fake"}]}') + b"0\r\n\r\n"
WHOLE = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "".join(TOKENS)},
            "finish_reason": "stop",
        }
    ],
}
UNSTREAMED = HEAD % b"application/json" + _chunk(json.dumps(WHOLE).encode()) + b"0\r\n\r\n"


def write_answer(dialect: str, texts: tuple[str, ...]) -> bytes:
    """A response of these deltas as a vendor's own dialect has it, an HTTP chunk for each event."""
    vendor = VENDORS.get(dialect, Copilot)()  # whose chunks are OpenAI's
    events = vendor.speak(Said(texts=texts, output_tokens=len(texts)))
    head = HEAD % vendor.stream_type.encode()
    return head + b"".join(map(_chunk, events)) + b"0\r\n\r\n"


def send_stamped(connection: socket.socket) -> None:
    """Tokens that are the moment they were sent, in nanoseconds of the machine's clock."""
    connection.sendall(HEAD % b"text/event-stream")
    for _ in range(STAMPS):
        time.sleep(STAMP_GAP_S)
        connection.sendall(_event({"content": f"{time.perf_counter_ns()} "}))
    connection.sendall(_event({}, "stop") + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")


def send_late(connection: socket.socket, body: bytes) -> None:
    """Think for as long as the last prompt says, and answer with the moment before all else."""
    place = body.rindex(LATE) + len(LATE)
    time.sleep(int(body[place : place + 4]) / 1000)
    first = _event({"content": MOMENT.format(time.perf_counter_ns())})
    rest = ANSWER.partition(b"\r\n\r\n")[2]
    connection.sendall(HEAD % b"text/event-stream" + first)
    connection.sendall(rest)


OTHERS = {
    b"POST /v1/responses": write_answer("openai-responses", tuple(TOKENS)),
    b"POST /v1/messages": write_answer("anthropic", tuple(TOKENS)),
}
"""For programs that speak only their maker's dialect, where no long answer is given."""


def serve(connection: socket.socket, answer: bytes) -> None:
    """Answer the requests of one connection until it is closed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = b""
    with connection:
        while data := connection.recv(65536):
            received += data
            head, end, body = received.partition(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not end or len(body) < length:
                continue
            received = body[length:]
            if head.startswith(b"GET"):
                connection.sendall(MODELS)
            elif answer is ANSWER and head.startswith(tuple(OTHERS)):
                connection.sendall(OTHERS[head.split(b"?")[0].split(b" HTTP")[0]])
            elif SUMMARY in body:
                time.sleep(SUMMARY_S)
                connection.sendall(answer)
            elif STAMPED in body:
                send_stamped(connection)
            elif LATE in body:
                send_late(connection, body)
            elif b'"stream":true' in body.replace(b" ", b""):
                connection.sendall(answer)
            else:
                connection.sendall(UNSTREAMED)


def main() -> None:
    """Serve until standard input ends."""
    answer = ANSWER
    if len(sys.argv) > 1:
        flood = tuple(f"tok{number % 1000} " for number in range(FLOOD_TOKENS))
        answer = write_answer(sys.argv[1], flood)
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)

    def accept() -> None:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=[connection, answer], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
