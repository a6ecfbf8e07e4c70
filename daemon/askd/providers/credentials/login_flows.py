"""The two ways to sign in with `ask auth login`: a browser that comes back, a code to type.

Each begins with a question to the vendor and holds what is needed to finish. It
tells nobody what it holds, and gives up nothing on the disk before it has all.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import trio

from askd.errors import NotConfigured, RequestError
from askd.providers.credentials.callback import Callback, open_callback
from askd.providers.credentials.chatgpt import ChatGPTSignIn
from askd.providers.credentials.copilot_token import CLIENT_ID, CopilotSignIn
from askd.providers.credentials.device_flow import DeviceCode, ask_code, wait_for_token
from askd.providers.credentials.logins import SignedIn
from askd.providers.credentials.oauth import Attempt, Returned, make_attempt, read_return
from askd.providers.credentials.sign_in import fail_login
from askd.providers.credentials.token_server import TokenServer
from askd.providers.known import ProviderConfig

PAGE_S = 0.2
"""For the browser to be sent its page before the door closes."""

BROWSER_S = 15 * 60.0
"""For a person to sign in in a browser, with a second factor that has to be found."""


class Arrival:
    """What the browser comes back with, or somebody pastes. The first that comes holds.

    Attributes:
        is_here: it has come, or a refusal has.
    """

    def __init__(self) -> None:
        self.is_here = trio.Event()
        self._found: Returned | NotConfigured | None = None

    def take(self, pasted: str, attempt: Attempt) -> Returned | None:
        """What an address says; None: that the sign-in failed. Raises as `read_return`."""
        found: Returned | NotConfigured
        try:
            found = read_return(pasted, attempt)
        except NotConfigured as error:
            found = error
        if self._found is None:
            self._found = found
            self.is_here.set()
        return found if isinstance(found, Returned) else None

    async def wait(self) -> Returned:
        """What has come; raise `NotConfigured` (`login_failed`) if that is a refusal."""
        await self.is_here.wait()
        assert self._found is not None
        if isinstance(self._found, NotConfigured):
            raise self._found
        return self._found


@dataclass(slots=True)
class BrowserLogin:
    """ChatGPT's: a browser ends at our callback, or somebody pastes where it ended."""

    provider: str
    sign_in: ChatGPTSignIn = field(repr=False)
    server: TokenServer = field(repr=False)
    attempt: Attempt = field(repr=False)
    callback: Callback
    stack: AsyncExitStack = field(repr=False)
    url: str = field(repr=False)
    user_code: str | None = None
    can_paste: bool = True
    life_s: float = BROWSER_S
    _arrival: Arrival = field(default_factory=Arrival, repr=False)

    def take(self, pasted: str) -> bool:
        """As `Login.take`; whether it is a sign-in. The first that comes holds."""
        return self._arrival.take(pasted, self.attempt) is not None

    async def finish(self) -> SignedIn:
        """As `Login.finish`."""
        # In the nursery: the callback's visitors, sent home when one of them brought the address.
        async with self.stack, trio.open_nursery() as nursery:
            nursery.start_soon(self.callback.serve, self.take)
            await self._arrival.is_here.wait()
            await trio.sleep(PAGE_S)
            nursery.cancel_scope.cancel()
        account = await self.sign_in.finish(
            self.provider,
            self.server,
            attempt=self.attempt,
            returned=await self._arrival.wait(),
            redirect_uri=self.callback.redirect_uri,
        )
        return SignedIn(account=account, path=str(self.sign_in.path))


@dataclass(slots=True)
class CodeLogin:
    """GitHub's: a code that is typed in a browser anywhere."""

    config: ProviderConfig
    sign_in: CopilotSignIn = field(repr=False)
    server: TokenServer = field(repr=False)
    code: DeviceCode
    github_url: str
    url: str
    user_code: str | None
    life_s: float
    can_paste: bool = False

    def take(self, pasted: str) -> bool:
        """As `Login.take`: there is nothing to paste."""
        raise RequestError("This sign-in takes no address: type the code at the page it names.")

    async def finish(self) -> SignedIn:
        """As `Login.finish`."""
        client_id = self.config.client_id or CLIENT_ID
        token = await wait_for_token(
            self.config.name,
            self.server,
            self.code,
            github_url=self.github_url,
            client_id=client_id,
        )
        await self.sign_in.keep(token, client_id)
        return SignedIn(account=None, path=str(self.sign_in.path))


@asynccontextmanager
async def listen(name: str) -> AsyncIterator[Callback]:
    """Listen for the browser that signs in at `name`. Raises `ProviderError`."""
    async with AsyncExitStack() as stack:
        try:
            callback = await stack.enter_async_context(open_callback())
        except OSError as error:
            raise fail_login(f"{name}: nothing can listen on 127.0.0.1: {error.strerror}") from None
        yield callback


async def begin_browser(
    config: ProviderConfig, sign_in: ChatGPTSignIn, server: TokenServer
) -> BrowserLogin:
    """Listen for the browser, and make the address to open. Raises `ProviderError`."""
    attempt = make_attempt()
    async with AsyncExitStack() as stack:
        callback = await stack.enter_async_context(listen(config.name))
        url = await sign_in.prepare(server, attempt, callback.redirect_uri)
        return BrowserLogin(
            provider=config.name,
            sign_in=sign_in,
            server=server,
            attempt=attempt,
            callback=callback,
            stack=stack.pop_all(),
            url=url,
        )


async def begin_code(
    config: ProviderConfig, sign_in: CopilotSignIn, server: TokenServer, *, github_url: str
) -> CodeLogin:
    """Ask GitHub for a code. Raises `ProviderError`."""
    client_id = config.client_id or CLIENT_ID
    code = await ask_code(config.name, server, github_url=github_url, client_id=client_id)
    return CodeLogin(
        config=config,
        sign_in=sign_in,
        server=server,
        code=code,
        github_url=github_url,
        url=code.url,
        user_code=code.user_code,
        life_s=code.life_s,
    )
