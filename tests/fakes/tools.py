"""A tool for tests: it needs nobody's word unless told so."""

from collections.abc import Mapping
from typing import Any

from askd.core.approval import Approval
from askd.tools.base import Preview, Site


class Plain:
    """What every tool of a test has in common; `run` is its own."""

    name: str
    needs: Approval = "auto"

    async def preview(self, arguments: Mapping[str, Any], site: Site) -> Preview:
        """What it would do, as little as can be said of it."""
        return Preview(title=self.name, needs=self.needs)


SITE = Site(conversation_id="c", turn_id="t", call_id="call_1")
"""Nowhere in particular."""
