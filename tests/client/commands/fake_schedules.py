"""Schedules of the fake daemon: rows that a test has made; none of them ever comes."""

from typing import Any

from tests.client.commands.fake_log import NOW, Refusal

Map = dict[str, Any]


def schedule(id: str, **fields: Any) -> Map:
    """One record; it comes next an hour after the fixed clock's."""
    return {
        "id": id,
        "name": None,
        "cron": "0 8 * * 1-5",
        "zone": "UTC",
        "missed": "once",
        "session": "work",
        "conversation_id": "0c0ffee0-1111",
        "prompt": "What is new?",
        "model": None,
        "created_at": NOW,
        "next_at": NOW + 3600,
        **fields,
    }


def slot(state: str = "completed", **fields: Any) -> Map:
    """What was done about a slot, at the fixed clock's hour."""
    return {"slot": NOW, "state": state, "at": NOW, "skipped": 0, **fields}


class FakeSchedules:
    """The schedules of one daemon; `warning`: what is said of one that is added."""

    def __init__(self) -> None:
        super().__init__()
        self.schedules: list[Map] = []
        self.schedule_warning: str | None = None

    def _find_schedule(self, params: Map) -> Map:
        text = params["schedule"]
        found = [
            each for each in self.schedules if each["name"] == text or each["id"].startswith(text)
        ]
        if len(found) != 1:
            message = f"Schedule not found: {text}\nList them: ask schedule list"
            raise Refusal("schedule_not_found", message)
        return found[0]

    def _schedule_add(self, params: Map) -> Map:
        assert all(part["type"] == "text" for part in params["parts"])
        added = schedule(
            f"{len(self.schedules):04d}-new",
            name=params.get("name"),
            cron=params["cron"],
            session=params.get("session"),
        )
        self.schedules.append(added)
        return {**added, "warning": self.schedule_warning}

    def _schedule_list(self, params: Map) -> Map:
        return {"data": self.schedules}

    def _schedule_read(self, params: Map) -> Map:
        return self._find_schedule(params)

    def _schedule_run(self, params: Map) -> Map:
        found = self._find_schedule(params)
        return {
            "turn_id": "job-1",
            "job_id": "job-1",
            "conversation_id": found["conversation_id"],
            "seq": 1,
            "position": 0,
        }

    def _schedule_pause(self, params: Map) -> Map:
        found = self._find_schedule(params)
        found.update(paused_at=NOW, next_at=None)
        return found

    def _schedule_resume(self, params: Map) -> Map:
        found = self._find_schedule(params)
        found.update(paused_at=None, trouble=None, next_at=NOW + 3600)
        return found

    def _schedule_remove(self, params: Map) -> Map:
        found = self._find_schedule(params)
        self.schedules.remove(found)
        return found
