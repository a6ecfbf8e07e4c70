"""How a parameter says what Tab offers for it: by a kind of `ask.completion.sources`.

Click wants a function for that; the scripts of `ask completion` never call it, for the kind
alone stands in their table. A parameter may have a function of its own just as well.
"""

from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Completes:
    """`shell_complete` of a parameter. `kinds`: as in `ask.completion.tree`, joined by +."""

    kinds: str

    def __call__(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        """What click's own scripts would offer; every failure is an empty list."""
        from ask.completion.daemon import ask_in_time
        from ask.completion.sources import DIRECTORY, FILE, list_offers

        found = []
        for kind in self.kinds.split("+"):
            if kind in (FILE, DIRECTORY):
                found.append(CompletionItem(incomplete, type=kind.replace(DIRECTORY, "dir")))
                continue
            try:
                offers = ask_in_time(list_offers, kind, incomplete, ())
            except Exception:
                continue  # a shell has nowhere to show an error
            found += [CompletionItem(word, help=about or None) for word, about in offers or ()]
        return found


complete_conversation = Completes("conversation")
complete_directory = Completes("directory")
complete_file = Completes("file")
complete_job = Completes("job")
complete_model = Completes("model")
complete_pinned = Completes("pinned")
complete_provider = Completes("provider")
complete_schedule = Completes("schedule")
complete_server = Completes("server")
complete_tool = Completes("tool")
complete_unpinned = Completes("unpinned")


def complete_words(*words: str) -> Completes:
    """These words and no other, where more may be typed all the same."""
    return Completes(f"choice:{','.join(words)}")
