"""The embedded model's program: what it refuses in words, what it asks of the engine."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import trio

from askd.processes.supervise import Command, open_child
from askd.providers import model_server
from askd.providers.local import SERVER_PROGRAM


class Engine(ModuleType):
    """Stands for xllamacpp: takes any parameters, starts or refuses."""

    def __init__(self, address: str | Exception) -> None:
        super().__init__("xllamacpp")
        self.address = address
        self.params: Any = None

    def CommonParams(self) -> Any:  # the engine's own name
        """An empty set of parameters."""
        sections = {name: SimpleNamespace() for name in ("model", "cpuparams", "cpuparams_batch")}
        return SimpleNamespace(**sections)

    def Server(self, params: Any) -> Any:  # the engine's own name
        """A server that listens where it was told to."""
        if isinstance(self.address, Exception):
            raise self.address
        self.params = params
        return SimpleNamespace(listening_address=self.address)


def spec(path: Path) -> dict[str, str | int]:
    """What the daemon hands over."""
    return {
        "packages": "/nowhere",
        "model_path": str(path),
        "model_name": "tiny",
        "api_key": "sk-child",
        "context_tokens": 1024,
        "threads": 3,
    }


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file that looks like weights at its beginning."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF and so on")
    return path


def plant(monkeypatch: pytest.MonkeyPatch, address: str | Exception) -> Engine:
    """Put an engine in place of the real one."""
    engine = Engine(address)
    monkeypatch.setitem(sys.modules, "xllamacpp", engine)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return engine


def test_engine_is_asked_for_one_private_loopback_server(
    monkeypatch: pytest.MonkeyPatch, weights: Path
) -> None:
    engine = plant(monkeypatch, "http://127.0.0.1:4711")
    assert model_server.load(spec(weights)) == {"port": 4711}
    params = engine.params
    assert params.model.path == str(weights)
    assert (params.n_ctx, params.n_parallel, params.port) == (1024, 1, 0)
    assert params.api_keys == ["sk-child"]
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 3
    assert params.cache_ram_mib <= 256
    model_server.keep.clear()


def test_server_on_another_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, weights: Path
) -> None:
    plant(monkeypatch, "http://0.0.0.0:4711")
    assert "not the loopback" in str(model_server.load(spec(weights))["error"])


def test_engines_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch, weights: Path) -> None:
    plant(monkeypatch, RuntimeError("Failed to init\n server"))
    assert model_server.load(spec(weights)) == {
        "error": f"{weights} could not be loaded: Failed to init server"
    }


def test_file_that_is_not_weights(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("notes")
    assert model_server.load(spec(path)) == {"error": f"{path} is not a GGUF file"}


def test_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.gguf"
    assert model_server.load(spec(path)) == {
        "error": f"{path} cannot be read: No such file or directory"
    }


async def test_program_prints_one_line_and_ends_if_it_cannot_serve(tmp_path: Path) -> None:
    command = Command(argv=[sys.executable, "-I", "-S", str(SERVER_PROGRAM)], env={})
    async with open_child(command) as child:
        await child.stdin.send_all(json.dumps(spec(tmp_path / "none.gguf")).encode() + b"\n")
        with trio.fail_after(20):
            assert await child.wait() == 1
            assert "cannot be read" in json.loads(await child.stdout.receive_some())["error"]


def test_program_stands_alone() -> None:
    source = SERVER_PROGRAM.read_text()
    assert not [
        word for word in ("askd", "trio", "httpx", "pydantic") if f"import {word}" in source
    ]
