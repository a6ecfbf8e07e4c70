"""What the handlers need: the rooms below, and a few answers of the application.

Put together once, by the composition root. It holds no behaviour.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ask.protocol.messages import ConfigReadResult, DaemonStatus, HelloResult
from askd.core.notifications import Notification
from askd.jobs.desk import JobDesk
from askd.jobs.notifier import Road
from askd.jobs.schedule_desk import ScheduleDesk
from askd.processes.confinement import Confiner
from askd.providers.base import Caller, Model
from askd.providers.credentials.auth import Begun, Changed, CredentialState
from askd.providers.credentials.logins import SignedIn
from askd.providers.credentials.server_sign_ins import SignedOut
from askd.sessions.admission import Admission
from askd.sessions.registry import Sessions
from askd.sessions.restoring import Restoring
from askd.sessions.scrubs import Scrubs
from askd.store.backups import Backups
from askd.store.checkup import Checkup
from askd.store.queries import Reader
from askd.tools.mcp.base import McpServers


class ModelLister(Protocol):
    """Knows which models there are; `providers.models.registry.Models` does."""

    async def resolve(self, name: str | None, caller: Caller) -> Model:
        """The model of that name, or the one that answers when none is given."""
        ...

    async def list_models(
        self, caller: Caller, *, refresh: bool = False
    ) -> tuple[Sequence[Model], Sequence[str]]:
        """Every model, and a sentence for each provider that could not be asked."""
        ...

    async def recall_names(self, caller: Caller) -> Sequence[str]:
        """The full names of models that were listed before; nobody is asked."""
        ...

    async def explain_default(self, caller: Caller) -> tuple[str | None, str | None]:
        """The model that answers when none is named, and why; None and why there is none."""
        ...

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names for models, and what each leads to."""
        ...


class SignIns(Protocol):
    """Keeps credentials and signs in; `providers.credentials.auth.Auth` does.

    No answer of it holds a credential. It raises `RequestError` for an unknown provider.
    """

    async def status(self, caller: Caller) -> Sequence[CredentialState]:
        """How each provider would be asked in this caller's name."""
        ...

    async def set_key(self, provider: str, key: str) -> Changed:
        """Keep a key; raise `RequestError` for what can be none."""
        ...

    async def log_out(self, provider: str) -> Changed:
        """Forget what is kept for a provider."""
        ...

    async def begin(self, provider: str) -> Begun:
        """Begin to sign in; raise `NotConfigured`."""
        ...

    async def wait(self, login_id: str, *, pasted: str | None, timeout_s: float) -> SignedIn | None:
        """Wait for a sign-in's end; None: not yet.

        Raise `NotFound`, `NotConfigured`, or `RequestError` for an address of something else.
        """
        ...


class ServerSignIns(Protocol):
    """Signs in at servers of tools; `server_logins.ServerLogins` does.

    It raises `NotFound` for a server that is not configured.
    """

    async def begin(self, server: str) -> Begun:
        """Begin to sign in, for `SignIns.wait`; raise `NotConfigured`, `RequestError`."""
        ...

    async def log_out(self, server: str) -> SignedOut:
        """Forget what is kept for a server; raise `NotConfigured`."""
        ...


class Notifies(Protocol):
    """Tells a person who looks elsewhere; `jobs.notifier.Notifier` does."""

    def find_road(self) -> Road:
        """How it would be done now."""
        ...

    async def send(self, told: Notification) -> None:
        """Do it; raise `jobs.base.GaveUp`."""
        ...


class Host(Protocol):
    """The application around the server: its state, its end, its settings."""

    @property
    def draining(self) -> bool:
        """No more prompts are accepted."""
        ...

    async def status(self, *, clients: int) -> DaemonStatus:
        """How the daemon is."""
        ...

    def serves(self, data: str) -> bool:
        """Whether this is the data directory that is served here."""
        ...

    def refresh(self) -> None:
        """Read the settings again if their file has changed; called before each request."""
        ...

    def drain(self, wait_s: float) -> None:
        """Begin to drain and then exit; answers at once, and may be called again."""
        ...

    def stop(self, wait_s: float) -> None:
        """As `drain`, but after `wait_s` what still runs is interrupted."""
        ...

    @property
    def warning(self) -> str | None:
        """What is wrong with the settings' file; then those from before it are in force."""
        ...

    def read_config(self) -> ConfigReadResult:
        """The settings in force, secrets left out."""
        ...

    async def write_config(self, key: str, value: Any) -> ConfigReadResult:
        """Change one setting in the file; raise `BadConfig`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Everything that a handler can reach.

    Attributes:
        identity: what `hello` answers.
        reader: reads what is committed, for listings and old pages.
        backups: the copies of the database that lie beside it.
        jobs: background work, as people order it.
        schedules: prompts that the daemon sends by itself, the same.
        checkup: looks whether all that is stored can be read.
        clients: how many connections have said hello.
        find_confinement: with what commands are confined now, and a sentence about it.
        servers: others' tools.
        server_logins: who signs in at those.
        notifier: who tells a person that a turn has ended, or asks.
        own_env: the daemon's variables that a caller would send, for prompts that bring none.
    """

    identity: HelloResult
    sessions: Sessions
    admission: Admission
    reader: Reader
    models: ModelLister
    host: Host
    auth: SignIns
    scrubs: Scrubs
    restoring: Restoring
    backups: Backups
    jobs: JobDesk
    schedules: ScheduleDesk
    checkup: Checkup
    clients: Callable[[], int]
    find_confinement: Callable[[], Awaitable[tuple[Confiner, str]]]
    servers: McpServers
    server_logins: ServerSignIns
    notifier: Notifies
    own_env: Mapping[str, str] = field(default_factory=dict)
