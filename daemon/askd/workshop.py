"""The workshop: what this daemon runs, tools and commands, by the settings of now.

It says which places are ours alone: a confined command reads none of them, and no tool
does. Secrets are not looked for beyond that: what else the caller can read, a command that
somebody has allowed can read, too.
"""

import functools
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ask.paths import Paths
from askd.config import Environment
from askd.host import find_places
from askd.jobs.notifier import Notifier
from askd.processes.confinement import Confiner
from askd.project_instructions import ProjectInstructions
from askd.room_settings import read_commands, read_instructions, read_notify, read_servers
from askd.server_logins import FarServers
from askd.settings import Settings
from askd.store.scrub.redacting import Hide
from askd.tools.builtin import make_tools
from askd.tools.history import SearchHistory
from askd.tools.mcp.servers import Servers
from askd.tools.mcp.stdio import open_stdio
from askd.tools.registry import Registry
from askd.tools.sandbox import Sandbox, Wanted


class Workshop:
    """Made once for a daemon.

    Attributes:
        tools: all there are; who is offered which is decided for each turn.
        servers: those whose tools are among them.
        server_logins: who signs in at those.
    """

    def __init__(
        self,
        environment: Environment,
        settings: Callable[[], Settings],
        *,
        socket: str,
        search: SearchHistory,
        far: FarServers,
    ) -> None:
        paths = environment.paths
        self._environment = environment
        self._settings = settings
        self._socket = socket
        self._chosen: tuple[Wanted, tuple[str, ...]] | None = None
        self._sandbox = Sandbox()
        self.servers = Servers(
            lambda: read_servers(settings()),
            stdio=functools.partial(open_stdio, env=environment.child_env, way=far.way),
            http=far.open,
            known_file=paths.state / "mcp-tools.json",
            now=time.time,
            hide=far.way.hide,
        )
        self.server_logins = far.make_logins(lambda: read_servers(settings()), self.servers)
        self.tools = Registry(
            make_tools(
                sandbox=self.sandbox,
                commands=lambda: read_commands(settings()),
                search_history=search,
                is_offline=lambda: settings().local_only,
                trust=_load_trust,
                own=[*self.find_hidden(), str(paths.config), str(find_scratch(paths))],
                path=environment.child_env.get("PATH", ""),
            ),
            more=self.servers.tools,
            servers=lambda: [each.name for each in self.servers.states() if each.state != "off"],
        )

    def sandbox(self) -> Sandbox:
        """What confines commands now; it has looked once what works here."""
        chosen = (self._settings().tools.sandbox, tuple(self.find_hidden()))
        if chosen != self._chosen:
            self._chosen = chosen
            self._sandbox = Sandbox(
                chosen[0],
                hidden=chosen[1],
                path=self._environment.child_env.get("PATH", os.defpath),
                runtime=self._environment.keys.get("XDG_RUNTIME_DIR"),
            )
        return self._sandbox

    def make_instructions(self, find_hide: Callable[[], Hide | None]) -> ProjectInstructions:
        """What reads the instructions of projects, and hides in them what the log must not hold."""
        return ProjectInstructions(
            lambda: read_instructions(self._settings()), own=self.find_hidden, find_hide=find_hide
        )

    def make_notifier(self, hide: Hide) -> Notifier:
        """What tells people that a turn has ended, with a command of the settings."""
        return Notifier(
            lambda: read_notify(self._settings()),
            environ=self._environment.keys,
            child_env=self._environment.child_env,
            hide=hide,
        )

    async def find_confinement(self) -> tuple[Confiner, str]:
        """With what commands are confined now, and a sentence about what that keeps them from."""
        sandbox = self.sandbox()
        found = await sandbox.find()
        return found, sandbox.describe(network=self._settings().tools.network)

    def find_hidden(self) -> list[str]:
        """Directories and files that no command and no tool reads; some may not be there."""
        environ = self._environment.keys
        own = find_own(self._environment.paths, self._settings(), self._socket, environ)
        return drop_inner([*own, *find_key_files(self._settings(), environ)])


def find_scratch(paths: Paths) -> Path:
    """Where snapshots are made. Beside the data: what git runs for it is confined, and sees it."""
    return paths.data.with_name(f"{paths.data.name}-scratch")


def find_sign_ins(paths: Paths) -> Path:
    """Where sign-ins at servers of tools are kept."""
    return paths.data / "mcp-sign-ins"


def find_own(
    paths: Paths, settings: Settings, socket: str, environ: Mapping[str, str]
) -> list[str]:
    """Where conversations, what we believe, our log and our socket are."""
    places = find_places(paths, settings)
    found = [places.data, places.state, places.log_file, places.archive, places.rollouts]
    # A socket in a place that somebody named may have any neighbours.
    is_named = bool(environ.get("ASK_SOCKET"))
    found += [each if is_named else each.parent for each in paths.sockets]
    return _list(*found, Path(socket))


def find_key_files(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """Files with the keys and sign-ins that the daemon itself would read."""
    home = Path(environ.get("HOME") or "/")
    named = [
        Path(os.path.expanduser(each.api_key_file))
        for each in settings.providers.values()
        if each.api_key_file
    ]
    named += [
        Path(os.path.expanduser(each.bearer_token_file))
        for each in settings.mcpServers.values()
        if each.bearer_token_file
    ]
    found = [
        Path(environ.get("CODEX_HOME") or home / ".codex") / "auth.json",
        Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / ".credentials.json",
        Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "github-copilot",
    ]
    passed = environ.get("CREDENTIALS_DIRECTORY")
    return _list(*named, *found, *([Path(passed)] if passed else []))


def _load_trust() -> ssl.SSLContext:
    """What servers are held to; imported where it is needed, which few daemons ever do."""
    from askd.providers.http.certificates import load_system_certificates

    return load_system_certificates()


def drop_inner(paths: Sequence[str]) -> list[str]:
    """Those that do not lie in another: what is hidden has no inside to hide anything in."""
    return [
        each for each in dict.fromkeys(paths) if not any(map(paths.__contains__, _parents(each)))
    ]


def _parents(path: str) -> Iterator[str]:
    return map(str, Path(path).parents)


def _list(*paths: Path) -> list[str]:
    """The absolute ones, each once."""
    return list(dict.fromkeys(str(each) for each in paths if each.is_absolute()))
