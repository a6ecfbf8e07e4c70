"""No secret gets out: planted ones, in every way they come in, sent to servers that repeat them.

After each session everything that a user, a file or another process could read is
searched for them: what `ask` said, the whole home but the very files that hold
them, the log at its most talkative, the command lines of all processes, and what
is left of a daemon that crashed.
"""

import base64
import json
import re
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer, Json, Status, chunk, event
from tests.fakes.sign_in_servers import make_jwt
from tests.fakes.vendor import Said, json_status
from tests.fakes.vendors import VENDORS
from tests.fakes.wire_server import STREAM, TLS, open_wire_server
from tests.system.servers import DAEMON, Told, serve, tell, write_config, write_secret
from tests.system.world import Result, World, open_world

MASK = "***"
SECRET_HEADERS = ("authorization", "x-api-key", "proxy-authorization")
PATHS = {"/responses": "openai-responses", "/messages": "anthropic", "/api/chat": "ollama"}
WATCH_S = 0.05

ALL = (
    "TEXT", "REASON", "CALL", "BAD", "DENY", "LATE", "REDIRECT", "PAGE", "GARBAGE", "STOP", "MODEL",
)  # fmt: skip
FEW = ("TEXT", "DENY", "LATE")
"""In what the server repeats the secrets: the last of these words in the prompt."""


def cut(text: str) -> list[str]:
    """The text again and again, in two pieces, each time at another place."""
    return [each for at in range(len(text) + 1) for each in (text[:at], text[at:], " ")]


class Echo:
    """A server that says what it was sent. `repeated` counts how often."""

    def __init__(self) -> None:
        self.repeated = 0
        self.address = ""

    def __call__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        secrets = [headers[name] for name in SECRET_HEADERS if name in headers]
        secrets += [each.split(" ")[-1] for each in secrets]
        if path.endswith("/copilot_internal/v2/token"):
            token = secrets[-1].replace("ghu_", "tid=")
            return json_status(200, {"token": token, "endpoints": {"api": self.address}})
        if path.endswith("/models"):
            rows = [{"id": f"fake-{each}", "object": "model"} for each in secrets]
            return json_status(200, {"object": "list", "data": rows})
        if not body or path == "/api/show":
            return Status(404, "; ".join(secrets).encode())
        self.repeated += bool(secrets)
        parsed = json.loads(body)
        return self._say(path, parsed, secrets)

    def _say(self, path: str, body: Json, secrets: list[str]) -> Answer:
        dialect = next((each for end, each in PATHS.items() if path.endswith(end)), "")
        text = "; ".join(secrets)
        words = re.findall("|".join(ALL), json.dumps(body.get("messages") or body.get("input")))
        error = {"message": f"Not with {text}.", "type": "odd", "code": text, "param": text}
        match words[-1]:
            case "BAD":
                return json_status(400, {"error": error}, {"x-request-id": secrets[-1]})
            case "DENY":
                return json_status(401, {"error": error})
            case "REDIRECT":
                where = f"{self.address}/{secrets[-1]}/x?key={secrets[-1]}"
                return Status(302, b"", {"location": where})
            case "PAGE":
                return Status(500, f"<html><h1>{text}</h1></html>".encode())
            case "GARBAGE":
                return Status(200, text.encode())
            case mode if dialect:
                return speak(dialect, mode, secrets)
            case mode:
                return speak_chat(body, mode, secrets)


def speak(dialect: str, mode: str, secrets: list[str]) -> Answer:
    """In one vendor's events."""
    vendor = VENDORS[dialect]()
    pieces = tuple(piece for each in secrets for piece in cut(each))
    thought = " ".join(secrets)
    call = ("call_1", "get_weather", json.dumps({"city": secrets[-1]}))
    events = vendor.speak(Said(texts=pieces, thought=thought if mode != "CALL" else ""))
    if mode == "CALL":
        return list(vendor.speak(Said(texts=pieces[:3], call=call, stop="calls")))
    if mode == "LATE":
        late = vendor.fail_late().decode().replace("The model crashed.", f"Lost: {thought}")
        return [*events[:6], late.encode()]
    return list(events)


def speak_chat(body: Json, mode: str, secrets: list[str]) -> Answer:
    """In chunks of chats, where any field may be filled."""
    pieces = [piece for each in secrets for piece in cut(each)]
    if body["messages"][-1]["role"] == "tool":
        return chat_answers.say("Done.")
    text = [chunk({"content": piece}) for piece in pieces]
    end = [chunk({}, finish="stop"), chat_answers.DONE]
    match mode:
        case "TEXT":
            return [*text, *end]
        case "REASON":
            return [*(chunk({"reasoning_content": piece}) for piece in pieces), *text[:3], *end]
        case "CALL":
            arguments = json.dumps({"city": secrets[-1], secrets[-1]: 1})
            head = {"index": 0, "id": f"call-{secrets[-1]}", "type": "function"}
            first = {**head, "function": {"name": f"f-{secrets[-1]}", "arguments": ""}}
            calls = [{"index": 0, "function": {"arguments": each}} for each in arguments]
            end = [chunk({}, finish="tool_calls"), chat_answers.DONE]
            return [chunk({"tool_calls": [each]}) for each in (first, *calls)] + end
        case "LATE":
            error = {"message": f"Lost: {secrets}", "code": secrets[-1], "type": secrets[-1]}
            return [*text[:5], event({"error": error})]
        case "STOP":
            return [*text[:3], chunk({}, finish=secrets[-1]), chat_answers.DONE]
        case _:
            odd: Json = {"object": "chat.completion.chunk", "model": secrets[-1], "id": secrets[-1]}
            odd |= {"choices": [{"index": 0, "delta": {"content": "x", "refusal": None}}]}
            return [event({**odd, "system_fingerprint": secrets[-1]}), *end]


@dataclass
class Search:
    """Everything that was planted, everything that was said, and where nothing is looked for.

    Attributes:
        holders: the files that hold secrets by right.
    """

    world: World
    canaries: dict[str, str] = field(default_factory=dict)
    holders: set[Path] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    def plant(self, way: str) -> str:
        """A secret that comes in this way."""
        self.canaries[way] = f"canary-{way}-7Qx2{len(self.canaries)}wZ"
        return self.canaries[way]

    def hold(self, path: Path, text: str) -> Path:
        """A private file that holds one."""
        self.holders.add(path)
        return write_secret(path, text)

    def ask(self, *arguments: str, **more: Any) -> Result:
        """`ask ARGUMENTS`, and keep what it says."""
        result = self.world.ask(*arguments, **more)
        self.take(result)
        return result

    def take(self, result: Result) -> None:
        """Keep what was said; with `--json`, the text that its pieces make, too."""
        self.said += [result.out, result.err]
        pieces: dict[str, str] = {}
        for line in result.out.splitlines():
            with suppress(ValueError):
                said = json.loads(line)
                if isinstance(said, dict) and said.get("type") == "delta":
                    pieces[said["kind"]] = pieces.get(said["kind"], "") + said["text"]
        self.said += pieces.values()

    def find(self) -> list[str]:
        """Where which of them is."""
        found = []
        files = [each for each in self.world.home.rglob("*") if each.is_file()]
        places = {
            str(path.relative_to(self.world.home)): path.read_bytes()
            for path in files
            if path not in self.holders
        }
        places |= {f"what was said: {each[:60]!r}": each.encode() for each in self.said}
        for way, value in self.canaries.items():
            pair = base64.b64encode(f"ada:{value}".encode())
            for place, data in places.items():
                if value.encode() in data or pair in data:
                    found.append(f"{way} in {place}")
        return found


@contextmanager
def watch_processes(canaries: dict[str, str]) -> Iterator[list[str]]:
    """Look at every process's command line and name, all the time; what was found."""
    found: list[str] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_S):
            for entry in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    data = (entry / "cmdline").read_bytes() + (entry / "comm").read_bytes()
                    found.extend(way for way, each in canaries.items() if each.encode() in data)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def read_rows(world: World) -> str:
    """The whole database in words, by a program that knows nothing of us."""
    path = world.ask_home / "data" / "ask.db"
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return "\n".join(reader.iterdump())
    finally:
        reader.close()


def table(name: str, base_url: str, **settings: str) -> str:
    """A provider's settings."""
    usual = {"dialect": "openai-chat", "base_url": base_url, "default_model": "fake"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in {**usual, **settings}.items()]
    return "\n".join([f"[providers.{name}]", *lines, ""])


def wire_echo(head: str) -> bytes:
    """A server behind a proxy's tunnel, which repeats the head of the request."""
    text = [chunk({"content": f"{line}\n"}) for line in head.splitlines()]
    return STREAM + b"".join([*text, chunk({}, finish="stop"), chat_answers.DONE])


def refuse_as_proxy(head: str) -> bytes:
    """A proxy that repeats what it was sent in its reason."""
    (line,) = [each for each in head.splitlines() if each.lower().startswith("proxy-auth")]
    return f"HTTP/1.1 407 No {line}\r\ncontent-length: {len(line)}\r\n\r\n{line}".encode()


def test_no_secret_gets_out(tmp_path: Path) -> None:
    echo = Echo()
    with ExitStack() as stack:
        world = stack.enter_context(open_world(tmp_path, model=False))
        search = Search(world)
        server: Told = stack.enter_context(tell(echo))
        here = echo.address = server.base_url
        tunnel = stack.enter_context(
            serve(open_wire_server(wire_echo, certificate="elsewhere", tunnel=True))
        )
        closed = stack.enter_context(serve(open_wire_server(refuse_as_proxy)))
        plan, tables, caller, by_hand = plant_all(search, here)
        for name, port in (("tunnel", tunnel.port), ("closed", closed.port)):
            proxy = f"http://ada:{search.plant(name)}@127.0.0.1:{port}"
            caller[name] = {"HTTPS_PROXY": proxy, "WORK_KEY": search.canaries["caller"]}
            tables.append(
                table(
                    name,
                    "https://elsewhere.example/v1",
                    ca_file=str(TLS / "elsewhere.pem"),
                    api_key_env="WORK_KEY",
                )
            )
            plan[name] = ("TEXT",)
        write_config(world, '[log]\nlevel = "debug"\n\n' + "\n".join(tables))
        daemon = world.start(command=DAEMON, env={"ASK_LOG": "debug", **by_hand})
        daemon.wait_for("Ready", where="err")
        said_by: dict[str, str] = {}
        with watch_processes(search.canaries) as seen:
            kept = search.plant("kept")
            search.holders |= {world.ask_home / "data" / "keys.json"}
            result = search.ask("auth", "set-key", "kept", stdin=f"{kept}\n".encode())
            assert result.code == 0, result
            search.holders.add(Path(re.findall(r"kept in (\S+?)\.?$", result.out.strip())[0]))
            for provider, modes in plan.items():
                for number, mode in enumerate(modes):
                    json_too = ("--json",) if number % 2 == 0 else ("--usage",)
                    result = search.ask(
                        *json_too, "-s", provider, "-m", f"{provider}/fake", mode,
                        env=caller.get(provider, {}),
                    )  # fmt: skip
                    said_by[provider] = said_by.get(provider, "") + result.out
            for command in (
                ("auth", "status"),
                ("auth", "status", "--json"),
                ("models", "refresh"),
                ("models", "list", "--json"),
                ("doctor",),
                ("config", "check"),  # `show` prints the file itself, which holds one by right
                ("usage",),
                ("daemon", "status", "--json"),
            ):
                search.ask(*command, env=caller["caller"])
            for provider in ("caller", "codex", "claude"):
                search.ask("history", "show", provider, "--raw")
                search.said.append(json.dumps(world.events(provider)))
        assert seen == []
        assert echo.repeated >= sum(map(len, plan.values())) - 4
        search.said += [daemon.out, daemon.err, world.log(), read_rows(world)]
        found = search.find()
        assert found == [], "\n".join(found)
        # Each was repeated, and masked; a proxy that refuses is told of in our own words.
        for provider in plan.keys() - {"closed"}:
            assert MASK in said_by[provider], provider
        assert "wants a name and a password" in said_by["closed"]
        world.kill_daemon()
        search.said += [daemon.out, daemon.err]
        assert search.find() == []
        # It was looked for well enough: a file that holds one is found.
        (tmp_path / "planted").write_text(f"x{search.canaries['caller']}x")
        assert search.find() == ["caller in planted"]


Plan = dict[str, tuple[str, ...]]


def plant_all(
    search: Search, here: str
) -> tuple[Plan, list[str], dict[str, dict[str, str | None]], dict[str, str]]:
    """Every way that a credential comes in: what is asked, settings, callers, the daemon's own."""
    home = search.world.home
    caller: dict[str, dict[str, str | None]] = {}
    # The caller's own variable, one that only this provider has.
    tables = [table("caller", here, api_key_env="WORK_KEY")]
    caller["caller"] = {"WORK_KEY": search.plant("caller")}
    # A well-known variable, with an address of the caller's.
    caller["openai"] = {"OPENAI_API_KEY": search.plant("known"), "OPENAI_BASE_URL": here}
    # The daemon's own environment, and what systemd passes it.
    tables.append(table("groq", here))
    by_hand = {"GROQ_API_KEY": search.plant("daemon")}
    search.hold(home / "passed" / "passed", search.plant("passed"))
    by_hand["CREDENTIALS_DIRECTORY"] = str(home / "passed")
    tables.append(table("passed", here))
    tables.append(table("kept", here))
    # A file, a command, and what that command is given to see.
    file = search.hold(home / "file.key", search.plant("file"))
    tables.append(table("file", here, api_key_file=str(file)))
    printed = search.hold(home / "printed.key", search.plant("command"))
    script = home / "print-key"
    script.write_text(f'#!/bin/sh\nenv > "{home}/its-env"\nsleep 0.2\ncat "{printed}"\n')
    script.chmod(0o755)
    tables.append(table("command", here) + f'api_key_cmd = ["{script}"]\n')
    # Other programs' sign-ins.
    tokens = {
        "access_token": make_jwt(exp=int(time.time()) + 7200, jti="canary"),
        "refresh_token": search.plant("refresh"),
        "id_token": make_jwt(email="ada@example.com"),
        "account_id": "acc-1",
    }
    search.canaries["codex"] = tokens["access_token"]
    search.hold(home / ".codex" / "auth.json", json.dumps({"tokens": tokens}))
    tables.append(table("codex", here, dialect="openai-responses", auth="chatgpt"))
    claude = {"accessToken": search.plant("claude"), "refreshToken": search.plant("claude-refresh")}
    search.hold(home / ".claude" / ".credentials.json", json.dumps({"claudeAiOauth": claude}))
    tables.append(table("claude", here, dialect="anthropic", auth="claude-oauth"))
    apps = {"github.com:Iv1.b507a08c87ecfe98": {"oauth_token": f"ghu_{search.plant('copilot')}"}}
    search.hold(home / ".config" / "github-copilot" / "apps.json", json.dumps(apps))
    tables.append(table("copilot", here, dialect="copilot"))
    by_hand["ASK_GITHUB_API_URL"] = here
    # Other dialects, and the password of a proxy that answers in the server's place.
    caller["ollama-keyed"] = {"OLLAMA_KEY": search.plant("ollama")}
    tables.append(table("ollama-keyed", here, dialect="ollama", api_key_env="OLLAMA_KEY"))
    caller["by-proxy"] = {
        "HTTP_PROXY": here.replace("//", f"//ada:{search.plant('proxy')}@"),
        "PROXIED_KEY": search.plant("proxied"),
    }
    tables.append(table("by-proxy", "http://vendor.invalid/v1", api_key_env="PROXIED_KEY"))
    # A header of the settings, which hold it by right.
    header = search.plant("header")
    tables.append(table("header", here) + f'headers = {{ authorization = "Bearer {header}" }}\n')
    search.holders.add(search.world.ask_home / "config" / "config.toml")
    plan: Plan = dict.fromkeys(
        ("openai", "groq", "passed", "kept", "file", "command", "copilot", "header"), FEW
    )
    plan |= {"caller": ALL, "by-proxy": ("TEXT", "BAD", "LATE", "REDIRECT")}
    plan |= dict.fromkeys(("codex", "claude", "ollama-keyed"), ("TEXT", "CALL", "BAD", "LATE"))
    return plan, tables, caller, by_hand


FAULTS = {
    "a turn": """
import askd.providers.http.answer as answer
async def fail(self):
    raise RuntimeError(f"{self._endpoint.api_key} {self._endpoint!r} {self._endpoint.headers}")
answer.Answer._open = fail
""",
    "the daemon": """
import askd.sessions.registry as registry, trio, askd.app as app
import askd.providers.http.answer as answer
keys = []
async def fail(self):
    keys.append(self._endpoint.api_key)
    await trio.sleep_forever()
answer.Answer._open = fail
async def watch(notifier, ping):
    while not keys:
        await trio.sleep(0.01)
    raise RuntimeError(f"lost {keys[0]}")
app.feed_watchdog = watch
""",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_its_own_says_no_secret(fault: str, tmp_path: Path) -> None:
    program = (
        f"{FAULTS[fault]}\nimport sys; from askd.__main__ import main; sys.exit(main(['run']))"
    )
    with open_world(tmp_path, model=False) as world, tell(Echo()) as server:
        search = Search(world)
        write_config(world, table("caller", server.base_url, api_key_env="WORK_KEY"))
        world.env["WORK_KEY"] = search.plant("caller")
        daemon = world.start(
            command=(sys.executable, "-P", "-c", program), env={"ASK_LOG": "debug"}
        )
        daemon.wait_for("Ready", where="err")
        result = search.ask("-s", "work", "TEXT")
        assert result.code != 0
        daemon.wait_for("RuntimeError", where="err")
        if fault == "the daemon":
            assert daemon.finish().code != 0
        assert MASK in daemon.err
        search.said += [daemon.out, daemon.err]
        assert search.find() == []


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_what_is_left_of_a_killed_daemon(number: int, tmp_path: Path) -> None:
    with open_world(tmp_path, model=False) as world, tell(Echo()) as server:
        search = Search(world)
        write_config(world, table("groq", server.base_url))
        # Where core files are wanted; whichever way they go, that of a daemon is empty.
        wanted = ("sh", "-c", 'ulimit -S -c unlimited; exec "$0" "$@"')
        daemon = world.start(
            command=(*wanted, sys.executable, "-P", "-X", "faulthandler", *DAEMON[2:]),
            env={"ASK_LOG": "debug", "GROQ_API_KEY": search.plant("daemon")},
        )
        daemon.wait_for("Ready", where="err")
        search.ask("-s", "work", "-m", "groq/fake", "TEXT")
        limits = Path(f"/proc/{daemon.process.pid}/limits").read_text()
        assert re.search(r"^Max core file size +0 ", limits, re.MULTILINE)
        daemon.signal(number)
        ended = daemon.finish()
        # `faulthandler` walks the frames of threads that go on running, so that, rarely, what tells
        # of the one death dies of another; what is left of it may hold no secret then either.
        assert ended.code in {-number, -signal.SIGSEGV}, ended
        assert "Fatal Python error" in ended.err
        search.take(ended)
        assert search.find() == []


def test_a_broken_database_says_no_secret(tmp_path: Path) -> None:
    with open_world(tmp_path, model=False) as world, tell(Echo()) as server:
        search = Search(world)
        write_config(world, table("groq", server.base_url))
        daemon = world.start(
            command=DAEMON, env={"ASK_LOG": "debug", "GROQ_API_KEY": search.plant("daemon")}
        )
        daemon.wait_for("Ready", where="err")
        search.ask("-s", "work", "-m", "groq/fake", "TEXT")
        for path in (world.ask_home / "data").glob("ask.db*"):
            with path.open("r+b") as file:
                file.write(b"\xff" * path.stat().st_size)
        result = search.ask("-s", "work", "-m", "groq/fake", "TEXT")
        assert result.code == 74, result
        daemon.signal(signal.SIGKILL)  # if it has not ended by itself yet, as it does some time
        daemon.finish()
        again = world.start(
            command=DAEMON, env={"ASK_LOG": "debug", "GROQ_API_KEY": search.canaries["daemon"]}
        )
        ended = again.finish()
        assert ended.code == 74, ended
        search.take(ended)
        search.take(Result(0, daemon.out, daemon.err))
        assert search.find() == []
