"""The servers of tools of the fake daemon: configured, listed, started, removed.

As the real one, it shows no value of a variable or a header, takes only a command or an
address, and knows only servers that are configured.
"""

from typing import Any

from tests.client.commands.fake_log import Refusal

Map = dict[str, Any]
HIDDEN = ("env", "headers")


class FakeServers:
    """The servers of one daemon.

    Attributes:
        written: what stands in the file for each, with all its values.
        how: fields of their records that are not those of a server that nobody has needed.
        listed: the rows of `mcp/test`'s tools, by server.
        said: what each wrote to its standard error.
        signed_in: where the daemon holds a sign-in.
    """

    settings: Map
    begun: Map

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[str, Map] = {}
        self.how: dict[str, Map] = {}
        self.listed: dict[str, list[Map]] = {}
        self.said: dict[str, str] = {}
        self.signed_in: set[str] = set()

    def configure(self, name: str, **settings: Any) -> None:
        """Have a server in the settings."""
        self._write_server(name, settings)

    def _config_write(self, params: Map) -> Map:
        table, _, name = params["key"].partition(".")
        if table != "mcpServers":
            return dict(super()._config_write(params))  # type: ignore[misc]  # of the providers
        self._write_server(name, params.get("value"))
        return {"path": "/home/me/config.toml", "settings": self.settings, "warnings": []}

    def _write_server(self, name: str, value: Map | None) -> None:
        if value is None:
            self.written.pop(name, None)
        elif ("command" in value) == ("url" in value):
            raise Refusal(
                "bad_config", f"config.toml, line 1: mcpServers.{name}: takes either one."
            )
        else:
            self.written[name] = value
        self.settings["mcpServers"] = {
            name: {
                key: dict.fromkeys(said, "***") if key in HIDDEN else said
                for key, said in server.items()
            }
            for name, server in self.written.items()
        }

    def _mcp_list(self, params: Map) -> Map:
        return {"data": [self._describe_server(name) for name in self.written]}

    def _mcp_test(self, params: Map) -> Map:
        name = params["server"]
        self._demand_server(name)
        record = self._describe_server(name)
        tools = self.listed.get(name, [])
        if record["state"] != "failed":
            offered = sum(each["offered"] for each in tools)
            ready = {"state": "ready", "tools": len(tools), "offered": offered}
            return {"server": {**record, **ready, **self.how.get(name, {})}, "data": tools}
        return {"server": record, "data": [], "log": self.said.get(name, "")}

    def _mcp_logs(self, params: Map) -> Map:
        self._demand_server(params["server"])
        return {"text": self.said.get(params["server"], "")}

    def _mcp_login(self, params: Map) -> Map:
        self._demand_server(params["server"])
        return self.begun

    def _mcp_logout(self, params: Map) -> Map:
        server = params["server"]
        self._demand_server(server)
        changed = server in self.signed_in
        self.signed_in.discard(server)
        return {"server": server, "changed": changed, "path": f"/home/me/{server}.json"}

    def _demand_server(self, name: str) -> None:
        if name not in self.written:
            raise Refusal("server_not_found", f"There is no server {name!r}.")

    def _describe_server(self, name: str) -> Map:
        return {
            "name": name,
            "kind": "http" if "url" in self.written[name] else "stdio",
            "state": "idle" if self.written[name].get("enabled", True) else "off",
            "tools": 0,
            "offered": 0,
            "version": None,
            "pid": None,
            "resources": False,
            "prompts": False,
            "error": None,
            "at": None,
            **self.how.get(name, {}),
        }
