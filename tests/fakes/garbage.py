"""What is freed by itself, told from what the collector has to find."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(kind: type) -> Iterator[None]:
    """No object of this kind that comes in the block is left behind it; nobody collects it."""
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, kind)}
    gc.disable()
    try:
        yield
        left = [each for each in gc.get_objects() if isinstance(each, kind)]
        assert {id(each) for each in left} <= before
    finally:
        gc.enable()
