"""What comes and goes in chunks through the fake daemon, and copies of its database."""

import hashlib
from typing import Any

from tests.client.commands.fake_log import NOW, FakeLog, Refusal

Map = dict[str, Any]


class FakeFiles(FakeLog):
    """The files of one daemon.

    Attributes:
        blobs: what `blob/read` reads from, by digest.
        backups: copies of the database by name, and the ids of conversations that each holds.
        file: what `conversation/export` writes.
        imports: what `conversation/import` answers with a file's last chunk, in their order.
        imported: the whole files that came.
    """

    def __init__(self) -> None:
        super().__init__()
        self.backups: dict[str, list[str]] = {}
        self.file = b"{}\n"
        self.imports: list[Map] = []
        self.imported: list[bytes] = []
        self.blobs: dict[str, bytes] = {}

    def _conversation_export(self, params: Map) -> Map:
        self._known(params)
        offset = params["offset"]
        chunk = self.file[offset : offset + 10]
        more = offset + len(chunk) < len(self.file)
        return {"bytes": chunk, "next_offset": offset + len(chunk) if more else None}

    def _conversation_import(self, params: Map) -> Map:
        if params["offset"] == 0:
            self.imported.append(b"")
        assert params["offset"] == len(self.imported[-1])
        self.imported[-1] += params["bytes"]
        received = len(self.imported[-1])
        result = {"received": received, "skipped": []}
        if received < params["size"]:
            return result
        answer = self.imports[len(self.imported) - 1]
        if "refused" in answer:
            raise Refusal("bad_import", answer["refused"])
        full = {"existed": False, "message_count": 2, "skipped_count": 0}
        return {**result, **full, **answer}

    def _backup_list(self, params: Map) -> Map:
        wanted = params.get("holding")
        found = [
            {"name": name, "bytes": 4096, "at": NOW}
            for name, held in self.backups.items()
            if wanted is None or set(held) & set(wanted)
        ]
        return {"data": found}

    def _backup_remove(self, params: Map) -> Map:
        if self.backups.pop(params["name"], None) is None:
            raise Refusal("backup_not_found", f"There is no copy {params['name']!r}.")
        return {}

    def _blob_read(self, params: Map) -> Map:
        content = self.blobs[params["sha256"]]
        assert hashlib.sha256(content).hexdigest() == params["sha256"]
        offset = params["offset"]
        return {"bytes": content[offset : offset + 1000], "size": len(content)}
