"""`local_only`, and the quiet of everything else, in a network of their own.

The daemon, `ask` and a vendor's server run in a fresh network namespace that has
a loopback and nothing more. The kernel counts there what was tried beyond it, and
every datagram, by which names are asked for: both counts stay at nothing.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.system.servers import DAEMON, write_config, write_secret
from tests.system.world import ASK, LIMIT_S, ROOT, Result, World, open_world

QUICK_S = 10.0
"""Nothing that is refused here is waited for."""

LOOPBACK_UP = """
import fcntl, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    request = struct.pack("16sh14x", b"lo", 0x1)  # IFF_UP
    fcntl.ioctl(control, 0x8914, request)  # SIOCSIFFLAGS
print("up", flush=True)
sys.stdin.read()
"""

TRY = """
import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET, kind) as one:
        try:
            one.connect(("192.0.2.1", 53))
        except OSError:
            pass
"""

SAY = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.sendto(b"?", ("127.0.0.53", 53))
"""

ASK_CONTROL = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=30) as answer:
    sys.stdout.buffer.write(answer.read())
"""


@dataclass(frozen=True)
class Network:
    """A namespace that has a loopback. `enter` goes before a command that shall run in it."""

    pid: int
    enter: tuple[str, ...]

    def run(self, program: str, *arguments: str) -> str:
        """What a Python program says in there."""
        done = subprocess.run(
            [*self.enter, sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=LIMIT_S,
        )
        return done.stdout

    def count(self) -> dict[str, int]:
        """What the kernel counted: ways that there are not, and datagrams."""
        found: dict[str, int] = {}
        lines = Path(f"/proc/{self.pid}/net/snmp").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            kind = names.split(":")[0]
            found |= {
                f"{kind} {name}": int(value)
                for name, value in zip(names.split()[1:], values.split()[1:], strict=True)
            }
        for line in Path(f"/proc/{self.pid}/net/snmp6").read_text().splitlines():
            name, value = line.split()
            found[name] = int(value)
        wanted = ("Ip OutNoRoutes", "Ip6OutNoRoutes", "Udp OutDatagrams", "Udp6OutDatagrams")
        return {name: found[name] for name in wanted}


@contextmanager
def open_network() -> Iterator[Network]:
    """A fresh one while the block runs; skips where the system allows none."""
    is_root = os.geteuid() == 0
    holder = subprocess.Popen(
        ["unshare", "-n" if is_root else "-rn", sys.executable, "-c", LOOPBACK_UP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    try:
        if holder.stdout.readline() != "up\n":
            pytest.skip(f"no network namespace here: {holder.stderr.read().strip()}")
        user = () if is_root else ("-U", "--preserve-credentials")
        yield Network(holder.pid, ("nsenter", "-t", str(holder.pid), *user, "-n", "--"))
    finally:
        holder.communicate(timeout=LIMIT_S)


@dataclass(frozen=True)
class Island:
    """A world in a network of its own, with one vendor's server on its loopback."""

    world: World
    network: Network
    base_url: str

    def ask(self, *arguments: str, env: dict[str, str | None] | None = None, **more: Any) -> Result:
        """`ask ARGUMENTS` in there; it must not take long."""
        began = time.monotonic()
        result = self.world.ask(*arguments, command=(*self.network.enter, ASK), env=env, **more)
        assert time.monotonic() - began < QUICK_S, arguments
        return result

    def ok(self, *arguments: str, **more: Any) -> Result:
        """The same, with exit code 0."""
        result = self.ask(*arguments, **more)
        assert result.code == 0, result
        return result

    def refused(self, host: str, *arguments: str, env: dict[str, str | None] | None = None) -> None:
        """The sentence and the code of what `local_only` refuses; nothing is kept."""
        result = self.ask(*arguments, env=env)
        assert result.code == 4, result
        assert "is not this machine, and `local_only` is set" in result.err, result
        assert host in result.err, result
        assert "trying again" not in result.err
        assert result.out == ""

    def violations(self) -> list[str]:
        """What the vendor's server found wrong."""
        found = self.network.run(ASK_CONTROL, f"{self.base_url}/control/violations")
        return list(json.loads(found))

    def start_daemon(self, **env: str) -> None:
        """By hand, with an environment of its own."""
        daemon = self.world.start(command=(*self.network.enter, *DAEMON), env=env)
        daemon.wait_for("Ready", where="err")


@contextmanager
def open_island(home: Path, *, dialect: str | None = None) -> Iterator[Island]:
    """One of them; at its end nothing has left it."""
    with ExitStack() as stack:
        network = stack.enter_context(open_network())
        module = (
            ["tests.fakes.chat_server"] if dialect is None else ["tests.fakes.vendors", dialect]
        )
        server = subprocess.Popen(
            [*network.enter, sys.executable, "-m", *module, "--watch-stdin"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(server.communicate, timeout=LIMIT_S)
        assert server.stdout is not None
        base_url = server.stdout.readline().strip()
        world = stack.enter_context(open_world(home, model=False))
        before = network.count()
        island = Island(world, network, base_url)
        yield island
        assert network.count() == before, "something wanted to leave this machine"
        assert island.violations() == []


def test_the_counters_see_what_leaves() -> None:
    """Else all below would prove nothing."""
    with open_network() as network:
        first = network.count()
        network.run(TRY)
        second = network.count()
        assert second["Ip OutNoRoutes"] >= first["Ip OutNoRoutes"] + 2
        network.run(SAY)
        assert network.count()["Udp OutDatagrams"] == second["Udp OutDatagrams"] + 1


PROVIDERS = """
[providers.here]
dialect = "openai-chat"
base_url = "{base_url}"

[providers.named]
dialect = "openai-chat"
base_url = "http://localhost:{port}/v1"

[providers.far]
dialect = "openai-chat"
base_url = "https://vendor.example/v1"

[providers.number]
dialect = "anthropic"
base_url = "http://192.0.2.7/v1"

[providers.six]
dialect = "openai-chat"
base_url = "http://[2001:db8::7]:8000/v1"

[providers.everywhere]
dialect = "openai-chat"
base_url = "http://0.0.0.0:{port}/v1"

[providers.trick]
dialect = "openai-chat"
base_url = "http://127.0.0.1@vendor.example/v1"

[providers.proxied]
dialect = "openai-chat"
base_url = "{base_url}"
proxy = "http://proxy.example:3128"

[providers.keyed]
dialect = "openai-chat"
base_url = "http://vendor.example/v1"
api_key_cmd = ["touch", "{home}/was-run"]

[providers.old-codex]
dialect = "openai-responses"
base_url = "{base_url}"
auth = "chatgpt"
"""

KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "xai": "XAI_API_KEY",
    "together": "TOGETHER_API_KEY",
}


def write_providers(island: Island, head: str) -> None:
    port = island.base_url.split(":")[2].split("/")[0]
    home = island.world.home
    text = PROVIDERS.format(base_url=island.base_url, port=port, home=home)
    write_config(island.world, f"{head}\n{text}")


def test_only_the_loopback_is_asked(tmp_path: Path) -> None:
    with open_island(tmp_path) as island:
        write_providers(island, 'local_only = true\ndefault_model = "here/fake"\ntitle = "model"')
        assert island.ok("-s", "work", "ECHO:from here").out == "from here\n"
        assert island.ok("-s", "work", "-m", "named/fake", "ECHO:named").out == "named\n"
        for provider, host in (
            ("far", "vendor.example"),
            ("number", "192.0.2.7"),
            ("six", "2001:db8::7"),
            ("everywhere", "0.0.0.0"),
            ("trick", "vendor.example"),
            ("proxied", "proxy.example"),
            ("keyed", "vendor.example"),
        ):
            island.refused(host, "-s", "work", "-m", f"{provider}/fake", "hi")
        assert not (tmp_path / "was-run").exists()
        listed = island.ok("models", "refresh")
        assert "here/fake" in listed.out
        assert "far" not in listed.out
        island.ask("doctor")
        island.ok("auth", "status")
        assert island.ok("-s", "work", "ECHO:still here").out == "still here\n"
        assert "Traceback" not in island.world.log()


def test_known_providers_are_refused_by_name_and_by_default(tmp_path: Path) -> None:
    with open_island(tmp_path) as island:
        write_config(island.world, "local_only = true\n\n[local]\nmodel_path = '/nowhere.gguf'\n")
        for provider, variable in KEYS.items():
            island.refused("", "-m", f"{provider}/model", "hi", env={variable: "k-0123456789"})
        away: dict[str, str | None] = {
            "OPENAI_API_KEY": "k-0123456789",
            "OPENAI_BASE_URL": "http://vendor.example/v1",
        }
        island.refused("vendor.example", "-m", "openai/model", "hi", env=away)
        island.refused("api.githubcopilot.com", "-m", "copilot/gpt-4.1", "hi")
        island.refused("api.openai.com", "-m", "chatgpt/gpt-5", "hi")
        island.refused("10.0.0.7", "-m", "ollama/m", "hi", env={"OLLAMA_HOST": "10.0.0.7"})
        # Nobody named a model: with every key at hand, none of them is chosen.
        every: dict[str, str | None] = dict.fromkeys(KEYS.values(), "k-0123456789")
        result = island.ask("hi", env=every)
        assert result.code == 4, result
        assert json.loads(island.ok("history", "list", "--json").out) == []
        # One that is here is, though the environment names a proxy.
        here: dict[str, str | None] = {
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": island.base_url,
            "HTTP_PROXY": "http://proxy.example:3128",
            "ALL_PROXY": "http://proxy.example:3128",
        }
        assert island.ok("-m", "openai/fake", "ECHO:here", env=here).out == "here\n"


def test_sign_ins_are_refused(tmp_path: Path) -> None:
    """Signing in, renewing a sign-in, and the exchange of one for a token."""
    with open_island(tmp_path) as island:
        write_providers(island, "local_only = true")
        for provider, host in (("chatgpt", "openai.com"), ("copilot", "github.com")):
            island.refused(host, "auth", "login", provider)
        ended = "e30.eyJleHAiOjF9.c2ln"  # {"exp": 1}
        tokens = {"access_token": ended, "refresh_token": "refresh-0123456789"}
        codex = write_secret(tmp_path / ".codex" / "auth.json", json.dumps({"tokens": tokens}))
        island.refused("auth.openai.com", "-m", "old-codex/fake", "hi")
        assert json.loads(codex.read_text()) == {"tokens": tokens}
        apps = {"github.com:Iv1.b507a08c87ecfe98": {"oauth_token": "ghu_0123456789"}}
        write_secret(tmp_path / ".config" / "github-copilot" / "apps.json", json.dumps(apps))
        island.refused("", "-m", "copilot/gpt-4.1", "hi")


def test_it_holds_from_the_moment_that_it_is_set(tmp_path: Path) -> None:
    with open_island(tmp_path, dialect="ollama") as island:
        text = f'[providers.near]\ndialect = "ollama"\nbase_url = "{island.base_url}"\n'
        text += '[providers.far]\ndialect = "ollama"\nbase_url = "http://vendor.example"\n'
        write_config(island.world, text)
        assert island.ok("-s", "work", "-m", "near/fake", "ECHO:near").out == "near\n"
        write_config(island.world, f"local_only = true\n{text}")
        island.refused("vendor.example", "-s", "work", "-m", "far/fake", "hi")
        assert island.ok("-s", "work", "-m", "near/fake", "ECHO:still").out == "still\n"


@pytest.mark.parametrize("with_proxy", [False, True])
def test_nobody_is_asked_who_was_not_named(tmp_path: Path, with_proxy: bool) -> None:
    """Without `local_only` too: no update check, no telemetry, no names looked up."""
    with open_island(tmp_path) as island:
        write_config(
            island.world,
            'title = "model"\n[providers.here]\ndialect = "openai-chat"\n'
            f'base_url = "{island.base_url}"\n',
        )
        proxies = {"HTTPS_PROXY": "http://proxy.example:3128", "HTTP_PROXY": "http://192.0.2.9:80"}
        if with_proxy:
            island.start_daemon(**proxies)
            island.world.env.update(proxies)
        else:
            island.ok("daemon", "start")
        assert island.ok("-s", "work", "ECHO:one").out == "one\n"
        assert island.ok("-c", "ECHO:two", stdin=b"context").out == "two\n"
        for command in (
            ("list",),
            ("history", "list"),
            ("history", "show", "work"),
            ("models", "list"),
            ("models", "refresh"),
            ("models", "default"),
            ("auth", "status"),
            ("usage",),
            ("ps",),
            ("daemon", "status"),
            ("config", "check"),
            ("new", "again"),
            ("clear", "work"),
            ("--help",),
            ("--version",),
        ):
            island.ok(*command)
        island.ask("doctor")
        island.ok("daemon", "restart")
        assert island.ok("-s", "work", "ECHO:four").out == "four\n"
        island.ok("daemon", "stop")
