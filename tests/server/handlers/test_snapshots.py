"""Snapshots over the wire: pages, a diff, what was put back and what was not."""

from pathlib import Path

import pytest

from askd.core.events import ItemAdded
from askd.core.items import Copy, Snapshot
from tests.fakes.house import Refused, open_server
from tests.fakes.snapshots import Repository


async def test_listed_shown_and_put_back(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "w")
    repository.write("a", "old\n")
    top = str(repository.top)
    digest = repository.commit()
    repository.write("a", "new\n")
    repository.write("data/b")
    async with open_server(home=tmp_path) as server:
        peer = await server.greet()
        created = await peer.call("conversation/create", {})
        id = created["id"]
        session = await server.house.sessions.get(id)
        item = Snapshot("0123456789ab", top, digest, paths=("data/",), at=5.0)
        await session.append([ItemAdded(None, item)])
        page = await peer.call("snapshot/list", {"conversation_id": id})
        assert page == {
            "data": [
                {
                    "id": "0123456789ab",
                    "at": 5.0,
                    "worktree": top,
                    "commit": digest,
                    "differ": 2,
                    "trouble": None,
                }
            ],
            "next_cursor": None,
        }
        shown = await peer.call("snapshot/diff", {"snapshot": "0123"})
        assert (shown["id"], shown["conversation_id"], shown["files"], shown["cut"]) == (
            "0123456789ab",
            id,
            2,
            False,
        )
        assert "-new\n+old\n" in shown["diff"]
        done = await peer.call("snapshot/restore", {"snapshot": "0123", "conversation_id": id})
        assert (done["put"], done["removed"], done["left_total"]) == (1, 0, 1)
        assert [each["path"] for each in done["left"]] == ["data/b"]
        assert (repository.top / "a").read_text() == "old\n"
        assert repository.refs() == [f"refs/ask/{done['before']}"]
        page = await peer.call("snapshot/list", {"conversation_id": id, "limit": 1})
        assert (page["data"][0]["id"], page["next_cursor"]) == (done["before"], done["before"])


async def test_a_name_that_is_no_text_is_answered_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    name = "\udcff"
    async with open_server(home=tmp_path) as server:
        peer = await server.greet()
        id = (await peer.call("conversation/create", {}))["id"]
        session = await server.house.sessions.get(id)
        (tmp_path / "d" / name).mkdir()
        item = Snapshot("0123456789ab", str(tmp_path / "d"), "", copies=(Copy(name),))
        await session.append([ItemAdded(None, item)])
        shown = await peer.call("snapshot/diff", {"snapshot": "0123456789ab"})
        assert "cannot be read" in shown["diff"]
        done = await peer.call("snapshot/restore", {"snapshot": "0123456789ab"})
        assert done["left_total"] == 1


async def test_refusals() -> None:
    async with open_server() as server:
        peer = await server.greet()
        for method, reason in (
            ("snapshot/diff", "snapshot_not_found"),
            ("snapshot/restore", "snapshot_not_found"),
        ):
            with pytest.raises(Refused) as caught:
                await peer.call(method, {"snapshot": "0123456789ab"})
            assert (caught.value.code, caught.value.reason) == (3, reason)
        with pytest.raises(Refused) as caught:
            await peer.call("snapshot/list", {"conversation_id": "nobody"})
        assert caught.value.code == 3
