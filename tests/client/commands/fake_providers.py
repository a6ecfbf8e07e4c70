"""Models, credentials, usage and settings of the fake daemon: no provider is asked."""

import json
from typing import Any

from tests.client.commands.fake_log import Refusal

Map = dict[str, Any]


class FakeProviders:
    """The providers of one daemon.

    Attributes:
        settings: what `config/read` answers.
        models: the rows of `model/list`.
        tools: the rows of `tool/list`; their rules are those of `config/write`.
        tool_servers: those that may offer more of them.
        confinement: of commands, as the daemon found it.
        usage: the rows of `usage/read`, whatever they are grouped by.
        auth: the rows of `auth/status`.
        keys: what `auth/set` has kept.
        begun: what `auth/login` answers.
        pending: how many `auth/wait` answer "not yet" before the browser is done.
    """

    def __init__(self) -> None:
        super().__init__()
        self.settings: Map = {"default_model": None, "persist_special_commands": True}
        self.warnings: list[str] = []
        self.models: list[Map] = [
            {"name": "fake/echo", "provider": "fake", "context_window": 8192, "default": True}
        ]
        self.tools: list[Map] = [
            {
                "name": "read_file",
                "description": "Read a text file. Long ones in ranges.",
                "effects": False,
                "needs": "auto",
                "enabled": True,
            },
            {
                "name": "write_file",
                "description": "Write a text file.",
                "effects": True,
                "needs": "ask",
                "enabled": False,
            },
        ]
        self.tool_servers: list[str] = []
        self.confinement: Map = {"kind": "bubblewrap", "text": "Confined by bubblewrap."}
        self.usage: list[Map] = []
        self.auth: list[Map] = []
        self.keys: dict[str, str] = {}
        self.begun: Map = {"login_id": "l1", "url": "https://v/auth", "expires_at": 4e9}
        self.pending = 0

    def _model_list(self, params: Map) -> Map:
        found = [row["name"] for row in self.models if row.get("default")]
        chosen = self.settings["default_model"] or (found[0] if found else None)
        if params.get("begins") is not None:
            begins = params["begins"]
            recalled = [
                {"name": row["name"], "provider": row["provider"], "aliases": row.get("aliases")}
                for row in self.models
                if any(each.startswith(begins) for each in (row["name"], *row.get("aliases", ())))
            ]
            return {"data": recalled, "warnings": []}
        return {
            "data": self.models,
            "warnings": self.warnings,
            "default": chosen,
            "default_why": "it is the only one" if chosen else "Looked for a key: set KEY.",
            "next_cursor": None,
        }

    def _model_refresh(self, params: Map) -> Map:
        return self._model_list(params)

    def _usage_read(self, params: Map) -> Map:
        first = int(params.get("cursor") or 0)
        last = first + params["limit"]
        counts = ("answers", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
        costs = [row["cost_usd"] for row in self.usage if row["cost_usd"] is not None]
        total = {
            "group": None,
            **{name: sum(row[name] for row in self.usage) for name in (*counts, "unpriced")},
            "cost_usd": sum(costs) if costs else None,
        }
        cursor = str(last) if last < len(self.usage) else None
        return {"data": self.usage[first:last], "total": total, "next_cursor": cursor}

    def _auth_status(self, params: Map) -> Map:
        return {"data": self.auth}

    def _auth_set(self, params: Map) -> Map:
        changed = self.keys.get(params["provider"]) != params["key"]
        self.keys[params["provider"]] = params["key"]
        return {"provider": params["provider"], "changed": changed, "path": "/home/me/keys.json"}

    def _auth_logout(self, params: Map) -> Map:
        changed = self.keys.pop(params["provider"], None) is not None
        path, note = "/home/me/keys.json", "Revoke it at the vendor too."
        return {"provider": params["provider"], "changed": changed, "path": path, "note": note}

    def _auth_login(self, params: Map) -> Map:
        return self.begun

    def _auth_wait(self, params: Map) -> Map:
        if params["login_id"] != self.begun["login_id"]:
            raise Refusal("login_not_found", "There is no such sign-in.")
        if params.get("pasted") is None and self.pending:
            self.pending -= 1
            return {"state": "pending"}
        if params.get("pasted") is not None and not params["pasted"].endswith("ok"):
            raise Refusal("login_failed", "The sign-in failed: access_denied.")
        return {"state": "done", "account": "me@here", "path": "/home/me/auth.json"}

    def _tool_list(self, params: Map) -> Map:
        rules: dict[str, Map] = {"tools": {}, "commands": {}}
        for key, value in self.settings.items():
            # As the daemon would read it: the last step of the name stands in quotes.
            steps = key.split(".", 2)
            if steps[0] == "approval" and len(steps) == 3 and value is not None:
                rules[steps[1]][json.loads(steps[2])] = value
        return {
            "data": [{**row, "policy": rules["tools"].get(row["name"])} for row in self.tools],
            "enabled": ["read"],
            "enabled_by": "conversation" if params.get("conversation_id") else "settings",
            "confinement": self.confinement,
            "servers": self.tool_servers,
            "policy": self.settings.get("approval.policy"),
            **rules,
        }

    def _config_read(self, params: Map) -> Map:
        return {"path": "/home/me/config.toml", "settings": self.settings, "warnings": []}

    def _config_write(self, params: Map) -> Map:
        self.settings[params["key"]] = params.get("value")
        return self._config_read({})
