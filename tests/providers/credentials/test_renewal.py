"""Renewing under the lock: once for all, and what holds when it does not work."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from askd.errors import NotConfigured, ProviderError, Unavailable
from askd.providers.credentials.renewal import FRESH_S, Renewals
from askd.providers.credentials.sign_in import CLOCK_DOUBT_S

NOW = 1_000_000.0


@dataclass(frozen=True)
class Tokens:
    access_token: str | None
    valid_until_at: float | None = None


class Shelf:
    """Where the tokens lie, and a vendor that gives each new one once."""

    def __init__(self, path: Path, token: str, *, trouble: ProviderError | None = None) -> None:
        self.path = path
        self.lies = Tokens(token)
        self.asked: list[str | None] = []
        self.renewals = Renewals(lambda: NOW)
        self._trouble = trouble

    async def exchange(self, found: Tokens) -> Tokens:
        self.asked.append(found.access_token)
        await trio.sleep(1)
        if self._trouble is not None:
            raise self._trouble
        self.lies = Tokens(f"{found.access_token}+")
        self.renewals.note(self.path, self.lies)
        return self.lies

    async def renew(self, seen: Tokens, *, is_refused: bool = False) -> Tokens:
        return await self.renewals.renew(
            self.path,
            seen,
            what="x: the sign-in",
            is_refused=is_refused,
            look=lambda: self.lies,
            exchange=self.exchange,
        )


async def test_many_at_once_ask_once(tmp_path: Path, autojump_clock: trio.abc.Clock) -> None:
    shelf = Shelf(tmp_path / "a.json", "old")
    got: list[Tokens] = []

    async def renew() -> None:
        got.append(await shelf.renew(Tokens("old")))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(renew)
    assert got == [Tokens("old+")] * 5
    assert shelf.asked == ["old"]


async def test_what_was_got_just_now_is_fresh(
    tmp_path: Path, autojump_clock: trio.abc.Clock
) -> None:
    shelf = Shelf(tmp_path / "a.json", "old")
    assert not shelf.renewals.is_fresh(shelf.path, Tokens(None))
    renewed = await shelf.renew(Tokens("old"))
    assert shelf.renewals.is_fresh(shelf.path, renewed)
    assert not shelf.renewals.is_fresh(shelf.path, Tokens("another"))
    assert not shelf.renewals.is_fresh(tmp_path / "b.json", renewed)
    await trio.sleep(FRESH_S)
    assert not shelf.renewals.is_fresh(shelf.path, renewed)


@pytest.mark.parametrize(
    ("seen", "is_refused", "reason", "is_raised"),
    [
        (Tokens("old", NOW - 1), False, None, False),  # the clock may be wrong: it is still tried
        (Tokens("old", None), False, None, False),
        (Tokens("old", NOW - CLOCK_DOUBT_S - 1), False, None, True),
        (Tokens("old", NOW + 60), True, None, True),
        (Tokens("old", NOW + 60), False, "local_only", True),
    ],
)
async def test_the_old_one_holds_while_it_may_still_be_taken(
    tmp_path: Path,
    autojump_clock: trio.abc.Clock,
    seen: Tokens,
    is_refused: bool,
    reason: str | None,
    is_raised: bool,
) -> None:
    trouble = Unavailable("the vendor is away", reason=reason)
    shelf = Shelf(tmp_path / "a.json", "old", trouble=trouble)
    if is_raised:
        with pytest.raises(Unavailable):
            await shelf.renew(seen, is_refused=is_refused)
    else:
        assert await shelf.renew(seen, is_refused=is_refused) is seen


async def test_a_lock_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "gone" / "a.json", "old")
    with pytest.raises(NotConfigured, match=r"x: the sign-in cannot be renewed: .*gone: No such"):
        await shelf.renew(Tokens("old"), is_refused=True)
    assert shelf.asked == []
