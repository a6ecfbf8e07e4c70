"""Sign-ins at servers of tools: begun, come back from, given up, forgotten."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from askd import server_logins
from askd.errors import NotConfigured, NotFound, RequestError, Unavailable
from askd.providers.credentials.auth import Auth
from askd.providers.credentials.key_file import read_private_json
from askd.providers.redact import MASK
from askd.server_logins import FarServers, ServerLogins
from askd.tools.mcp.base import ServerState
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.journal import Journal
from tests.fakes.chat_answers import Hold
from tests.fakes.credentials import Desk
from tests.fakes.mcp_http_server import McpHttpServer
from tests.fakes.mcp_servers import FakeServers
from tests.fakes.scripted_server import open_server

pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

LIMIT_S = 10.0


class Place:
    """A daemon's sign-ins, with one server that wants one."""

    def __init__(self, home: Path, server: McpHttpServer, auth: Auth, desk: Desk) -> None:
        self.server = server
        self.auth = auth
        self.desk = desk
        self.directory = home / "sign-ins"
        self.servers = FakeServers()
        self.configs = [
            ServerConfig(name="far", url=server.url),
            ServerConfig(name="near", command="x"),
            ServerConfig(name="own", url=server.url, bearer_token_env="X"),
        ]
        self.far = FarServers(self.directory, auth)
        self.logins: ServerLogins = self.far.make_logins(lambda: self.configs, self.servers)

    async def sign_in(self) -> str:
        """The whole of it, with the address pasted; the file."""
        begun = await self.logins.begin("far")
        done = await self.auth.wait(
            begun.login_id, pasted=self.server.authorize(begun.url), timeout_s=LIMIT_S
        )
        assert done is not None
        assert done.account is None
        return done.path


@asynccontextmanager
async def open_place(home: Path) -> AsyncIterator[Place]:
    desk = Desk(home)
    credentials = desk.make()
    ids = iter(map(str, range(99)))
    auth = Auth(lambda: credentials, new_id=lambda: next(ids))
    server = McpHttpServer(wants="sign-in")
    async with open_server(server), trio.open_nursery() as nursery:
        await nursery.start(auth.run)
        yield Place(home, server, auth, desk)
        nursery.cancel_scope.cancel()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with open_place(tmp_path) as place:
        yield place


async def test_what_came_of_a_sign_in_is_sent_and_forgotten(place: Place) -> None:
    path = await place.sign_in()
    kept = read_private_json(Path(path))
    assert kept is not None
    assert (kept["url"], kept["resource"]) == (place.server.url, place.server.url)
    for name in ("access_token", "refresh_token"):
        assert place.desk.secrets.hide(kept[name]) == MASK
    async with place.far.open(place.configs[0], journal=Journal(lambda: 0.0)):
        pass
    token = await place.far.way.tokens.fetch(place.configs[0])
    assert token is not None
    assert token.value == kept["access_token"]
    gone = await place.logins.log_out("far")
    assert (gone.changed, gone.path) == (True, path)
    assert (await place.logins.log_out("far")).changed is False


async def test_a_sign_in_may_be_forgotten_when_its_server_is_gone(place: Place) -> None:
    await place.sign_in()
    place.configs.clear()
    assert (await place.logins.log_out("far")).changed is True
    with pytest.raises(NotFound):
        await place.logins.log_out("far")


@pytest.mark.parametrize("state", ["failed", "ready"])
async def test_a_server_that_waited_for_it_is_tried_at_once(place: Place, state: str) -> None:
    how = ServerState(name="far", kind="http", state="failed" if state == "failed" else "ready")
    place.servers.how["far"] = how
    await place.sign_in()
    tried = [each for each in place.servers.asked if each[0] == "check"]
    assert len(tried) == (state == "failed")


@pytest.mark.parametrize(
    ("server", "error", "words"),
    [
        ("nowhere", NotFound, "no server of tools named 'nowhere'"),
        ("near", RequestError, "is a program on this machine"),
        ("own", RequestError, "the token that its settings name"),
    ],
)
async def test_there_is_no_sign_in_to_these(
    place: Place, server: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        await place.logins.begin(server)
    assert place.server.asked == []


@pytest.mark.parametrize("server", ["nowhere", "../keys", "", "a/b"])
async def test_nothing_is_forgotten_of_what_is_no_server(place: Place, server: str) -> None:
    with pytest.raises(NotFound):
        await place.logins.log_out(server)


async def test_one_that_fails_before_there_is_an_address(place: Place) -> None:
    place.server.rules.registers = False
    with pytest.raises(NotConfigured, match="bearer_token_file") as caught:
        await place.logins.begin("far")
    assert caught.value.reason == "login_failed"


async def test_a_server_that_takes_too_long(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_logins, "BEGIN_S", 0.05)
    place.server.spoil("/register", (Hold(),))
    with pytest.raises((Unavailable, NotConfigured), match=r"too long|given up"):
        await place.logins.begin("far")


async def test_an_address_of_another_sign_in_changes_nothing(place: Place) -> None:
    begun = await place.logins.begin("far")
    back = place.server.authorize(begun.url)
    with pytest.raises(RequestError, match="not the address of this sign-in"):
        await place.auth.wait(begun.login_id, pasted=back.replace("state=", "state=x"), timeout_s=0)
    done = await place.auth.wait(begun.login_id, pasted=back, timeout_s=LIMIT_S)
    assert done is not None


async def test_a_person_who_says_no(place: Place) -> None:
    begun = await place.logins.begin("far")
    back = place.server.authorize(begun.url, allow=False)
    with pytest.raises(NotConfigured, match="The sign-in was not allowed: No"):
        await place.auth.wait(begun.login_id, pasted=back, timeout_s=LIMIT_S)
    assert not place.directory.exists()
