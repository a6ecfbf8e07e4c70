"""`[history] redact_keys`: whether credentials are hidden from what is stored, and which.

It decides, and hides nothing itself: the log before the log does.
"""

from collections.abc import Callable

from askd.providers.redact import KnownSecrets
from askd.store.scrub.redacting import Hide


class Redaction:
    """Answers how to hide. `is_on`: what the setting says just now."""

    def __init__(self, secrets: KnownSecrets, *, is_on: Callable[[], bool]) -> None:
        self._secrets = secrets
        self._is_on = is_on

    def find_hide(self) -> Hide | None:
        """How to hide what is known just now; None: nothing is to be hidden."""
        return self._secrets.hide if self._is_on() else None

    def learn(self, value: str) -> None:
        """Know a key that a caller has lent, whether or not its turn will need it.

        Without the setting only those are known that are used: hiding others would change answers.
        """
        if self._is_on():
            self._secrets.add(value)
