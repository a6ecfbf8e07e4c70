"""The painter's import: in a thread, once, and its failure is nobody's."""

import sys
import threading

from ask.markdown.loading import SWITCH_S, Loading, import_painter
from ask.markdown.paint import Painter


def test_nobody_waits_while_it_is_imported() -> None:
    gate, seen = threading.Event(), []

    def load() -> type[Painter]:
        seen.append((threading.get_ident(), sys.getswitchinterval()))
        gate.wait(60)
        return Painter

    loading = Loading(load)
    before = sys.getswitchinterval()
    assert (loading.begun, loading.over, loading.found) == (False, False, None)
    loading.begin()
    loading.begin()
    assert (loading.begun, loading.over, loading.found) == (True, False, None)
    gate.set()
    loading.wait(60)
    assert loading.over
    assert loading.found is Painter
    ((thread, interval),) = seen
    assert thread != threading.get_ident()
    assert interval <= SWITCH_S * 1.1
    assert sys.getswitchinterval() == before


def test_the_wait_has_a_limit() -> None:
    gate = threading.Event()

    def load() -> type[Painter]:
        gate.wait(60)
        return Painter

    loading = Loading(load)
    loading.wait(0.01)
    assert not loading.over
    gate.set()
    loading.wait(60)
    assert loading.over


def test_what_cannot_be_imported_is_over_too() -> None:
    def load() -> type[Painter]:
        raise ImportError("half of it is missing")

    loading = Loading(load)
    loading.wait(60)
    assert loading.over
    assert loading.found is None


def test_it_imports_the_painter() -> None:
    assert import_painter() is Painter
