"""Other programs that ask a model: `python -m tests.bench.peers DIR` installs them below DIR.

They come by pip and npm, each with what it needs, uvloop with them, and are linked into `DIR/bin`,
where the bench looks for them (`python -m tests.bench --peers DIR`), before PATH. Nothing here is
needed for the other rows. Their first runs are done, and their homes made, before anything is
timed. Whoever measures them starts the bench where no other network is than loopback, so that none
of them waits for its maker's servers:

    unshare -rn sh -c 'ip link set lo up && python -m tests.bench --peers DIR'

Each works in a directory with nothing in it, and none reports on itself or looks for news.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.loops import NAME as LOOP
from tests.bench.loops import find_place
from tests.bench.measure import Command
from tests.bench.provider import ANSWER_TEXT
from tests.bench.rows import Row

VERSION_LIMIT_S = 60.0
UNKNOWN = "unknown"
ABSENT = "is not there"
SHOWN_CHARACTERS = 100
"""Of what a peer says in place of the answer."""
TRIAL_LIMIT_S = 180.0
"""For a first run, which makes what the others find."""
DEAD_PROXY = "http://127.0.0.1:9"
"""For all that is not loopback: a peer that looks for news of itself finds nobody at once."""
API_KEY = "key-for-loopback"
PIP = {"llm": ["llm"], "sgpt": ["shell-gpt", "click"]}
"""Packages by the programs that they bring; each program gets a virtual environment of its own.

`sgpt` imports click without saying that it needs it.
"""
NPM = {"codex": "@openai/codex", "claude": "@anthropic-ai/claude-code", "opencode": "opencode-ai"}


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer that is there: its program and what it calls its version."""

    kind: "Kind"
    program: str
    version: str

    def prepare(self, home: Path, env: Mapping[str, str], more: Sequence[str] = ()) -> Command:
        """A command that asks the bench's provider for its answer; its home is made below `home`.

        Args:
            env: holds `OPENAI_BASE_URL`, which ends in `/v1`.
            more: words that come before the others.
        """
        own = home / self.kind.name
        work = own / "work"
        work.mkdir(parents=True, exist_ok=True)
        words, needed = self.kind.configure(own, env["OPENAI_BASE_URL"])
        return Command(
            [self.program, *more, *words],
            make_environ(own, self.program) | needed,
            expected=ANSWER_TEXT,
            whole=False,
            directory=work,
        )


def make_environ(home: Path, program: str) -> dict[str, str]:
    """What a peer finds about itself: a home, a key that nobody takes, and no way out."""
    return {
        "PATH": f"{Path(program).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "HTTPS_PROXY": DEAD_PROXY,
        "NO_PROXY": "127.0.0.1,localhost",
        "OPENAI_API_KEY": API_KEY,
    }


@dataclass(frozen=True, slots=True)
class Kind:
    """A program as it is asked.

    Attributes:
        name: of the program.
        shown: as it is called in the table.
        goal: how many times as long as `ask` it is to take.
        configure: makes its home for a base URL; the words after the program, and what it needs
            in its environment.
    """

    name: str
    shown: str
    goal: float
    configure: Callable[[Path, str], tuple[list[str], dict[str, str]]]


def configure_codex(home: Path, base_url: str) -> tuple[list[str], dict[str, str]]:
    """It speaks Responses; what it would fetch of plugins at each start stays away."""
    (home / "config.toml").write_text(
        'model = "fake"\nmodel_provider = "bench"\ncheck_for_update_on_startup = false\n'
        "analytics = { enabled = false }\nfeatures = { plugins = false }\n\n"
        f'[model_providers.bench]\nname = "bench"\nbase_url = "{base_url}"\n'
        'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    )
    return ["exec", "--skip-git-repo-check", "hi"], {"CODEX_HOME": str(home)}


def configure_claude(home: Path, base_url: str) -> tuple[list[str], dict[str, str]]:
    """It speaks Messages, below an address without the version."""
    return ["-p", "hi"], {
        "ANTHROPIC_BASE_URL": base_url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": API_KEY,
        "CLAUDE_CONFIG_DIR": str(home),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def configure_llm(home: Path, base_url: str) -> tuple[list[str], dict[str, str]]:
    """Its log is on, as ours is."""
    (home / "extra-openai-models.yaml").write_text(
        f"- model_id: fake\n  model_name: fake\n  api_base: {base_url}\n"
    )
    return ["-m", "fake", "--key", "k", "hi"], {"LLM_USER_PATH": str(home)}


def configure_sgpt(home: Path, base_url: str) -> tuple[list[str], dict[str, str]]:
    """Without its cache, which would answer in the model's place."""
    more = {"API_BASE_URL": base_url, "DEFAULT_MODEL": "fake", "USE_LITELLM": "false"}
    return ["--no-md", "--no-cache", "hi"], more


def configure_opencode(home: Path, base_url: str) -> tuple[list[str], dict[str, str]]:
    """By a provider of its settings."""
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "bench": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": base_url, "apiKey": API_KEY},
                "models": {"fake": {"name": "fake"}},
            }
        },
    }
    path = home / "opencode.json"
    path.write_text(json.dumps(settings))
    more = {"OPENCODE_CONFIG": str(path), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return ["run", "-m", "bench/fake", "hi"], more


KINDS = (
    Kind("codex", "codex exec", 8, configure_codex),
    Kind("claude", "claude -p", 25, configure_claude),
    Kind("llm", "llm", 40, configure_llm),
    Kind("sgpt", "sgpt", 60, configure_sgpt),
    Kind("opencode", "opencode run", 120, configure_opencode),
)


def find_peers(directory: Path | None) -> dict[str, Peer]:
    """The peers that are there, by their programs' names: below `directory`, then on PATH."""
    path = os.environ["PATH"] if directory is None else f"{directory / 'bin'}:{os.environ['PATH']}"
    found: dict[str, Peer] = {}
    for kind in KINDS:
        program = shutil.which(kind.name, path=path)
        if program is not None:
            found[kind.name] = Peer(kind, program, read_version(program))
    return found


def read_version(program: str) -> str:
    """The first word with a digit of what it says to `--version`, in a home that is thrown away."""
    with tempfile.TemporaryDirectory() as home:
        command = Command([program, "--version"], make_environ(Path(home), program))
        try:
            said = run_untimed(command, VERSION_LIMIT_S).stdout
        except (OSError, subprocess.TimeoutExpired):
            return UNKNOWN
    return next((word for word in said.decode().split() if word[:1].isdigit()), UNKNOWN)


def make_ready(
    peer: Peer | None, home: Path, env: Mapping[str, str], more: Sequence[str] = ()
) -> Command | str:
    """The command of a peer that gives the answer in an untimed run; else why it is not measured.

    Args:
        home: see `Peer.prepare`, and the others too.
    """
    if peer is None:
        return ABSENT
    command = peer.prepare(home, env, more)
    try:
        done = run_untimed(command, TRIAL_LIMIT_S)
    except OSError as error:
        return f"{peer.version} does not start: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{peer.version} does not end within {TRIAL_LIMIT_S:.0f} s"
    if not done.returncode and command.is_said(done.stdout):
        return command
    said, complaint = (
        text.decode(errors="replace").strip().rpartition("\n")[2][:SHOWN_CHARACTERS]
        for text in (done.stdout, done.stderr)
    )
    return f"{peer.version} ends with {done.returncode}, says {said!r}, complains {complaint!r}"


def run_untimed(command: Command, limit_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run to the end, however it ends."""
    return subprocess.run(
        command.argv,
        env=dict(command.env),
        cwd=command.directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=limit_s,
        check=False,
    )


def missing_row(name: str, program: str, target: str, reason: str = ABSENT) -> Row:
    """The row in place of one that would need a peer."""
    return Row(name, f"not measured: {program} {reason}".replace("|", "/"), target, None)


def install(directory: Path) -> None:
    """Install all of them below `directory`, or bring them up to date."""
    programs = directory / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for program, needed in PIP.items():
        home = directory / program
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--upgrade", *needed], check=True)
        link(programs / program, home / "bin" / program)
    packages = directory / "npm"
    latest = [f"{package}@latest" for package in NPM.values()]
    subprocess.run(["npm", "install", "--prefix", packages, *latest], check=True)
    place = str(find_place(directory))
    words = [sys.executable, "-m", "pip", "install", "--upgrade", "--target", place, LOOP]
    subprocess.run(words, check=True)
    for program in NPM:
        link(programs / program, packages / "node_modules" / ".bin" / program)


def link(place: Path, program: Path) -> None:
    """A link at `place`, in place of any that is there."""
    place.unlink(missing_ok=True)
    place.symlink_to(program.absolute())


def main() -> int:
    """Install, and say which versions came."""
    if len(sys.argv) != 2:
        print("usage: python -m tests.bench.peers DIR", file=sys.stderr)
        return 2
    directory = Path(sys.argv[1]).absolute()
    install(directory)
    for peer in find_peers(directory).values():
        print(f"{peer.kind.name} {peer.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
