"""A server of tools, as a program of the standard library alone: well-behaved, or as bad as told.

    python mcp_server.py [--name NAME] [--slow S] [--deaf] ...

It shares no code with the daemon or the SDK, so that nobody can agree with it on a mistake. Its
switches are what it does by itself, its tools what it does when it is called. What it was told
(cancellations, roots, answers) it writes to its standard error.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "echo": ("Say the same.", TEXT),
    "fail": ("Answer with an error.", NOTHING),
    "wait": ("Take n seconds.", NUMBER),
    "big": ("Answer with n bytes.", NUMBER),
    "big_late": ("The same, the id after the result.", NUMBER),
    "die": ("End without an answer.", NOTHING),
    "babble": ("Say n lines that are no messages, then answer.", NUMBER),
    "steps": ("Report n steps of progress.", NUMBER),
    "elicit": ("Ask for a name, and say what was said.", TEXT),
    "visit": ("Ask to visit a page.", NOTHING),
    "roots": ("Say what the roots are.", NOTHING),
    "grow": ("Offer one more tool.", NOTHING),
    "picture": ("Answer with an image, a link, a resource and a sound.", NOTHING),
    "fork": ("Leave n processes behind.", NUMBER),
    "moan": ("Write n bytes to the standard error.", NUMBER),
    "pid": ("Say which process this is.", NOTHING),
}


class Program:
    """One run: reads requests on one thread, and answers each call on a thread of its own."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.cancelled: dict[Any, threading.Event] = {}
        self.waiting: dict[str, tuple[threading.Event, list[Any]]] = {}
        self.asked = 0
        self.grown = 0

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}))

    def write(self, line: str) -> None:
        with self.lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def note(self, *words: Any) -> None:
        print(*words, file=sys.stderr, flush=True)

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request to the client; its result, or `{"error": ...}`."""
        self.asked += 1
        id = f"own-{self.asked}"
        arrived, slot = threading.Event(), []  # type: tuple[threading.Event, list[Any]]
        self.waiting[id] = (arrived, slot)
        self.send(id=id, method=method, params=params)
        arrived.wait()
        return slot[0]

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            method = message.get("method")
            if method is None:
                arrived, slot = self.waiting.pop(message["id"])
                slot.append(message.get("result", {"error": message.get("error")}))
                arrived.set()
            elif "id" not in message:
                self.hear(method, message.get("params") or {})
            elif method == "tools/call":
                self.cancelled[message["id"]] = threading.Event()
                threading.Thread(target=self.run, args=(message,), daemon=True).start()
            else:
                self.answer(message["id"], method, message.get("params") or {})

    def hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/cancelled":
            self.note("cancelled", params["requestId"])
            if params["requestId"] in self.cancelled:
                self.cancelled[params["requestId"]].set()
        elif method == "notifications/initialized" and self.options.roots:
            threading.Thread(target=self.learn_roots, daemon=True).start()

    def learn_roots(self) -> None:
        self.note("roots", json.dumps(self.ask("roots/list")))

    def answer(self, id: Any, method: str, params: dict[str, Any]) -> None:
        options = self.options
        result: dict[str, Any]
        match method:
            case "initialize":
                time.sleep(options.slow)
                capabilities: dict[str, Any] = {"tools": {"listChanged": True}}
                if not options.plain:
                    capabilities |= {"resources": {}, "prompts": {}}
                result = {
                    "protocolVersion": PROTOCOL,
                    "capabilities": capabilities,
                    "serverInfo": {"name": options.name, "version": "1.2.3"},
                }
                self.note("initialize", json.dumps(params))
            case "tools/list":
                result = self.list_tools(params.get("cursor"))
            case "ping":
                result = {}
            case "resources/list":
                note = {"uri": "note://one", "name": "one", "mimeType": "text/plain"}
                result = {"resources": [note, {"uri": "note://bytes", "name": "bytes"}]}
            case "resources/templates/list":
                template = {"uriTemplate": "note://{name}", "name": "a note"}
                result = {"resourceTemplates": [template]}
            case "resources/read":
                uri = params["uri"]
                if not uri.startswith("note://"):
                    self.send(id=id, error={"code": -32002, "message": f"no {uri}"})
                    return
                held = {"blob": PIXEL} if uri == "note://bytes" else {"text": f"text of {uri}"}
                result = {"contents": [{"uri": uri, "mimeType": "text/plain", **held}]}
            case "prompts/list":
                argument = {"name": "who", "description": "whom", "required": True}
                greet = {"name": "greet", "description": "Greets.", "arguments": [argument]}
                result = {"prompts": [greet]}
            case "prompts/get":
                text = f"Greet {params.get('arguments', {}).get('who')}"
                message = {"role": "user", "content": {"type": "text", "text": text}}
                result = {"messages": [message]}
            case _:
                self.send(id=id, error={"code": -32601, "message": f"no method {method}"})
                return
        self.send(id=id, result=result)

    def list_tools(self, cursor: str | None) -> dict[str, Any]:
        options = self.options
        say = options.describe and Path(options.describe).read_text()
        named = [
            {"name": name, "description": say or words, "inputSchema": schema}
            for name, (words, schema) in TOOLS.items()
        ]
        many = options.tools + self.grown
        named += [
            {"name": f"tool_{k}", "description": "x" * options.words, "inputSchema": NOTHING}
            for k in range(many)
        ]
        if not options.page:
            return {"tools": named}
        start = int(cursor or 0)
        end = start + options.page
        if options.endless:
            return {"tools": [{**named[0], "name": f"more_{start}"}], "nextCursor": str(start + 1)}
        more = {"nextCursor": str(end)} if end < len(named) else {}
        return {"tools": named[start:end], **more}

    def run(self, request: dict[str, Any]) -> None:
        id, params = request["id"], request["params"]
        arguments = params.get("arguments") or {}
        n = arguments.get("n", 0)
        self.note("call", params["name"])
        match params["name"]:
            case "echo":
                self.say(id, arguments.get("text", ""))
            case "fail":
                self.say(id, "It went wrong.", isError=True)
            case "wait":
                if not self.cancelled[id].wait(n):
                    self.say(id, f"waited {n}")
            case "big":
                self.say(id, "x" * int(n))
            case "big_late":
                content = [{"type": "text", "text": "x" * int(n)}]
                self.write(json.dumps({"result": {"content": content}, "jsonrpc": "2.0", "id": id}))
            case "die":
                os._exit(7)
            case "babble":
                for k in range(int(n)):
                    self.write(f"this is no message, {k}")
                self.say(id, "said it")
            case "steps":
                token = (params.get("_meta") or {}).get("progressToken")
                for k in range(int(n)):
                    step = {"progressToken": token, "progress": k + 1, "total": n}
                    named = {**step, "message": f"step {k + 1}"}
                    self.send(method="notifications/progress", params=named)
                self.say(id, "done")
            case "elicit":
                schema = {**TEXT, "properties": {"name": {"type": "string"}}, "required": ["name"]}
                schema = arguments.get("schema", schema)
                text = arguments.get("text", "Who?")
                said = self.ask("elicitation/create", message=text, requestedSchema=schema)
                self.say(id, json.dumps(said))
            case "visit":
                page = {"url": "https://example.com/sign-in", "elicitationId": "e-1"}
                said = self.ask("elicitation/create", mode="url", message="Go there.", **page)
                self.say(id, json.dumps(said))
            case "roots":
                self.say(id, json.dumps(self.ask("roots/list")))
            case "grow":
                self.grown += 1
                self.send(method="notifications/tools/list_changed")
                self.say(id, "grown")
            case "picture":
                link = {"type": "resource_link", "uri": "note://one", "name": "one"}
                held: dict[str, str] = {"uri": "note://two", "text": "two"}
                sound = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
                picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
                told: list[Any] = [picture, link, {"type": "resource", "resource": held}, sound]
                self.send(id=id, result={"content": told})
            case "fork":
                self.say(id, " ".join(str(spawn()) for _ in range(int(n))))
            case "moan":
                sys.stderr.write("m" * int(n) + "\n")
                sys.stderr.flush()
                self.say(id, "moaned")
            case "pid":
                self.say(id, str(os.getpid()))
            case unknown:
                self.say(id, f"no tool {unknown}", isError=True)

    def flood(self) -> None:
        log = {"level": "info", "data": "f" * 100}
        while True:
            self.send(method="notifications/message", params=log)

    def say(self, id: Any, text: str, **more: Any) -> None:
        self.send(id=id, result={"content": [{"type": "text", "text": text}], **more})


def spawn() -> int:
    """A process in a session of its own that ignores what it is told; its pid."""
    ignoring = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    started = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", ignoring],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return started.pid


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="fake")
    parser.add_argument("--slow", type=float, default=0, help="seconds until it has initialised")
    parser.add_argument("--plain", action="store_true", help="no resources and no prompts")
    parser.add_argument("--tools", type=int, default=0, help="so many more of them")
    parser.add_argument("--words", type=int, default=10, help="of each of these, characters")
    parser.add_argument("--page", type=int, default=0, help="tools are listed by so many")
    parser.add_argument("--endless", action="store_true", help="the listing has no end")
    parser.add_argument("--describe", help="a file with the description of every tool")
    parser.add_argument("--roots", action="store_true", help="ask for roots at once")
    parser.add_argument("--nonsense", type=int, default=0, help="so many bad lines to begin with")
    parser.add_argument("--flood", action="store_true", help="notifications without end")
    parser.add_argument("--endless-line", action="store_true", help="a line without end")
    parser.add_argument("--moan", type=int, default=0, help="bytes for the standard error first")
    parser.add_argument("--deaf", action="store_true", help="never read the standard input")
    parser.add_argument("--stubborn", action="store_true", help="do not end when told to")
    parser.add_argument("--forks", type=int, default=0, help="so many processes are left behind")
    parser.add_argument("--exit", type=int, help="end at once with this status")
    parser.add_argument("--starts", help="a file that gets a line for each start: pids")
    options = parser.parse_args()
    pids = [os.getpid(), *(spawn() for _ in range(options.forks))]
    if options.starts:
        with open(options.starts, "a") as file:
            file.write(" ".join(map(str, pids)) + "\n")
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.moan:
        sys.stderr.write(("m" * 79 + "\n") * (options.moan // 80))
        sys.stderr.flush()
    if options.exit is not None:
        print("I cannot go on.", file=sys.stderr, flush=True)
        sys.exit(options.exit)
    program = Program(options)
    for k in range(options.nonsense):
        program.write(f"nonsense {k}")
    if options.deaf:
        time.sleep(600)
    if options.endless_line:
        while True:
            sys.stdout.write("x" * 65536)
    if options.flood:
        threading.Thread(target=program.flood, daemon=True).start()
    program.serve()
    if options.stubborn:
        time.sleep(600)


if __name__ == "__main__":
    main()
