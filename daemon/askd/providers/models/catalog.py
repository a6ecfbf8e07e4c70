"""What models' names mean: following aliases, matching bare names, suggesting near ones.

Pure. A name is `provider/model`, and the model's own part may hold slashes. It
does not decide which provider is used.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence

from askd.errors import UnknownModel

SUGGESTIONS = 3


def follow_alias(name: str, aliases: Mapping[str, str]) -> str:
    """The name that is meant. An alias goes before everything else of its name.

    One that leads to another alias is refused: where it ends would depend on the order in
    which somebody wrote them.
    """
    target = aliases.get(name)
    if target is None or target == name:
        return name
    if target in aliases:
        raise UnknownModel(
            f"The alias {name!r} leads to another alias, {target!r}. Let it name a model."
        )
    return target


def find_aliases(name: str, aliases: Mapping[str, str]) -> list[str]:
    """The aliases that lead to this full name, sorted."""
    return sorted(each for each, target in aliases.items() if target == name)


def spell_out(aliases: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The aliases, each with the full name that its model has, where just one has its bare name."""
    spelled: dict[str, str] = {}
    for alias, target in aliases.items():
        matches = [] if target in names else find_matches(target, names)
        spelled[alias] = matches[0] if len(matches) == 1 else target
    return spelled


def find_matches(name: str, candidates: Iterable[str]) -> list[str]:
    """The full names whose part behind the provider is exactly this name."""
    return [each for each in candidates if each.partition("/")[2] == name]


def find_near(name: str, candidates: Sequence[str]) -> list[str]:
    """The names that this one may be a misspelling of, the nearest first."""
    bare = {each.partition("/")[2]: each for each in candidates if "/" in each}
    near = difflib.get_close_matches(name, candidates, n=SUGGESTIONS)
    for written in filter(None, (name, name.partition("/")[2])):
        near += [bare[each] for each in difflib.get_close_matches(written, bare, n=SUGGESTIONS)]
    return list(dict.fromkeys(near))[:SUGGESTIONS]


def explain_unknown(
    name: str, candidates: Sequence[str], *, warnings: Sequence[str] = ()
) -> UnknownModel:
    """The error, with the nearest names; `warnings` say who could not be asked."""
    shown = find_near(name, candidates)
    hint = f"Did you mean {' or '.join(shown)}?" if shown else "List them: ask models list"
    said = f" ({'; '.join(warnings)})" if warnings else ""
    return UnknownModel(f"Unknown model: {name}. {hint}{said}", data={"candidates": shown})


def explain_missing(error: UnknownModel, name: str, candidates: Sequence[str]) -> UnknownModel:
    """A server's word that it has no such model, with the nearest of those that it listed."""
    shown = find_near(name, [each for each in candidates if each != name])
    hint = f"Did you mean {' or '.join(shown)}?" if shown else "List them: ask models list"
    return UnknownModel(f"{error.message.rstrip('.')}. {hint}", data={"candidates": shown})
