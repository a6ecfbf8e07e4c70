"""What the fake daemon does with whole conversations: views, searches, copies, pins.

It shrinks, scrubs and finds nothing: a test says what came of it.
"""

from typing import Any

from tests.client.commands.fake_log import FakeLog

Map = dict[str, Any]


class FakeViews(FakeLog):
    """What models see, what is found, what is kept.

    Attributes:
        hits: the rows of `conversation/search`, whatever is looked for.
        scrubbed: what `conversation/scrub` answers, one after the other.
        snapshots: the rows of `snapshot/list`; `differing`, `restored`: what `snapshot/diff` and
            `snapshot/restore` answer, one after the other.
        shrunk: what `conversation/compact`, `prune` and `undo` answer, one after the other.
        context: the items of `conversation/context`; `limits`, what else it says.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hits: list[Map] = []
        self.scrubbed: list[Map] = []
        self.shrunk: list[Map] = []
        self.snapshots: list[Map] = []
        self.differing: list[Map] = []
        self.restored: list[Map] = []
        self.context: list[Map] = []
        self.limits: Map = {"context_window": 8192, "budget": 8000, "healed": 1}

    def _conversation_compact(self, params: Map) -> Map:
        return self._shrink(params)

    def _conversation_prune(self, params: Map) -> Map:
        return self._shrink(params)

    def _conversation_undo(self, params: Map) -> Map:
        return self._shrink(params)

    def _shrink(self, params: Map) -> Map:
        return {"conversation_id": self._known(params), **self.shrunk.pop(0)}

    def _conversation_scrub(self, params: Map) -> Map:
        return self.scrubbed.pop(0)

    def _snapshot_list(self, params: Map) -> Map:
        self._known(params)
        first = int(params.get("cursor") or 0)
        last = first + params["limit"]
        cursor = str(last) if last < len(self.snapshots) else None
        return {"data": self.snapshots[first:last], "next_cursor": cursor}

    def _snapshot_diff(self, params: Map) -> Map:
        return self.differing.pop(0)

    def _snapshot_restore(self, params: Map) -> Map:
        return self.restored.pop(0)

    def _conversation_search(self, params: Map) -> Map:
        first = int(params.get("cursor") or 0)
        last = first + params["limit"]
        cursor = str(last) if last < len(self.hits) else None
        return {"data": self.hits[first:last], "next_cursor": cursor}

    def _conversation_fork(self, params: Map) -> Map:
        source = self._known(params)
        made = self.create(params.get("name"), live=True)
        self.events[made][0]["forked_from"] = source
        self.events[made] += self.events[source][1:]
        if params.get("terminal"):
            self.terminals[params["terminal"]] = made
        return self.summary(made)

    def _conversation_pin(self, params: Map) -> Map:
        conversation_id = self._known(params)
        self.append(conversation_id, "item_pinned", item_id=params.get("item_id"))
        if params.get("item_id") is None:
            self.pinned.add(conversation_id)
        return self.summary(conversation_id)

    def _conversation_unpin(self, params: Map) -> Map:
        conversation_id = self._known(params)
        self.append(conversation_id, "item_unpinned", item_id=params.get("item_id"))
        if params.get("item_id") is None:
            self.pinned.discard(conversation_id)
        return self.summary(conversation_id)

    def _conversation_context(self, params: Map) -> Map:
        self._known(params)
        newest = params.get("last") or len(self.context)
        first = int(params.get("cursor") or max(0, len(self.context) - newest))
        last = first + params["limit"]
        return {
            "data": self.context[first:last],
            "total": len(self.context),
            "tokens": sum(item["tokens"] for item in self.context),
            "model": params.get("model") or "fake/echo",
            "next_cursor": str(last) if last < len(self.context) else None,
            **self.limits,
        }
