"""Copies of the database over the wire: listed by what they hold, removed by name."""

import pytest

from tests.fakes.house import Refused, open_server


async def test_copies_are_listed_by_what_they_hold() -> None:
    async with open_server() as server:
        server.backups.holding = {"ask.db.backup-4": ["a", "b"], "ask.db.backup-5": ["b"]}
        peer = await server.greet()
        everything = await peer.call("backup/list", {})
        assert everything["data"] == [
            {"name": name, "bytes": 1, "at": 2.0} for name in server.backups.holding
        ]
        holding = await peer.call("backup/list", {"holding": ["a", "c"]})
        assert [each["name"] for each in holding["data"]] == ["ask.db.backup-4"]
        assert (await peer.call("backup/list", {"holding": []}))["data"] == []
        with pytest.raises(Refused, match="1,000"):
            await peer.call("backup/list", {"holding": ["a"] * 1_001})


async def test_a_copy_is_removed_once() -> None:
    async with open_server() as server:
        server.backups.holding = {"ask.db.backup-4": [], "stuck": []}
        peer = await server.greet()
        await peer.call("backup/remove", {"name": "ask.db.backup-4"})
        assert list(server.backups.holding) == ["stuck"]
        with pytest.raises(Refused) as gone:
            await peer.call("backup/remove", {"name": "ask.db.backup-4"})
        assert (gone.value.code, gone.value.reason) == (3, "backup_not_found")
        with pytest.raises(Refused) as refused:
            await peer.call("backup/remove", {"name": "stuck"})
        assert refused.value.code == 74
        assert refused.value.message == "stuck cannot be removed: Permission denied."
