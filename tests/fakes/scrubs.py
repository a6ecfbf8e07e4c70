"""Scrubs of a house on fakes: finds what it is told that there is, and replaces nothing."""

from pathlib import Path

from askd.errors import AskdError
from askd.sessions.registry import Sessions
from askd.sessions.scrubs import Order, Report, Scrubs
from askd.store.scrub.plans import Scrubbed
from askd.store.scrub.scrubber import Cleaned, Found, Places, Scrubber
from askd.store.writer import Writer


def _no_places() -> Places:
    raise AssertionError("no file is looked for here")


class FakeScrubs(Scrubs):
    """Remembers the orders; `holding`: conversations that hold whatever is looked for."""

    def __init__(self, sessions: Sessions) -> None:
        writer = Writer(Path("/nowhere"), observe=print, now=lambda: 0.0, boot_id="b")
        super().__init__(sessions, Scrubber(writer, places=_no_places))
        self._fake_sessions = sessions
        self.orders: list[tuple[str, Order]] = []
        self.holding: list[Scrubbed] = []
        self.refusal: AskdError | None = None

    async def find(self, order: Order) -> Report:
        self.orders.append(("find", order))
        return Report(found=self._found())

    async def run(self, order: Order) -> Report:
        self.orders.append(("run", order))
        if self.refusal is not None:
            raise self.refusal
        for each in self.holding:
            session = self._fake_sessions.find_live(each.conversation_id)
            if session is not None:
                session.hub.break_off()
        cleaned = Cleaned(
            files=[Path("/log")], backups=[Path("/b")], left=[Path("/keys")], is_erased=True
        )
        return Report(found=self._found(), cleaned=cleaned)

    def _found(self) -> Found:
        return Found(conversations=list(self.holding), rows=2, files=[Path("/log"), Path("/keys")])
