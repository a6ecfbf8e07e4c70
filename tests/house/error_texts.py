"""Reads from the sources every sentence that an error can say, with its reason and its code.

It looks at how errors are made: whichever class they are of, raised or returned, directly or
by a function that is given the sentence. A sentence that only passes by (a provider's own
words, another error's) is none of ours and is not here.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ask.protocol import errors
from ask.protocol.errors import REASONS
from tests.house.texts import (
    Function,
    Module,
    Place,
    find_assigned,
    find_function,
    find_texts,
    find_value,
    is_said,
    parameters,
    read_modules,
    walk,
)

ROOTS: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("askd", "AskdError"): ("internal", ("message",)),
    ("ask", "Failed"): ("", ("code", "message")),
    ("ask", "misuse"): ("usage", ("message",)),
    ("ask", "make_error"): ("", ("code", "message")),
    ("ask", "UsageError"): ("usage", ("message",)),  # click's
    ("ask", "BadParameter"): ("usage", ("message",)),
    ("askd", "Failure"): ("", ("code", "reason", "message")),
    ("askd", "TurnFinished"): ("", ()),
    ("askd", "End"): ("", ("outcome", "code", "reason", "message")),
    ("ask", "End"): ("", ("code", "message")),
    ("askd", "CannotRun"): ("tool", ("message",)),
    # These do not leave their room by themselves; their words stand in an error of the reason.
    ("askd", "CannotRecord"): ("bad_params", ("message",)),
    ("askd", "Unreadable"): ("bad_import", ("message",)),
    ("askd", "Empty"): ("bad_import", ("message",)),
    ("ask", "Unreadable"): ("bad_input", ("message",)),
    ("ask", "Untakable"): ("bad_input", ("message",)),
}
"""How errors begin, for the daemon and the client: by a class or a function, with a reason and with
what it is made with. `tool` is what a model is told of its call, no error of a request."""

LIBRARY = "ask.library.errors"
"""Its classes are one for each exit code, and have no words of their own."""

TOOL = "tool"


@dataclass(frozen=True, order=True)
class Sentence:
    """What an error says: its exit code, its reason (may be empty), the text, what it advises."""

    code: int
    reason: str
    text: str
    hint: str


@dataclass(frozen=True)
class _Kind:
    """A class of errors: how it is made, and the reason that it brings along."""

    reason: str
    names: tuple[str, ...]
    """Of what it is made with."""
    default: ast.expr | None
    """The message, if none is given."""


@dataclass(frozen=True)
class _Error:
    """An error that is made somewhere; what of it is known there."""

    message: ast.expr
    place: Place
    reason: str
    code: int | None
    hint: ast.expr | None


@cache
def find_sentences() -> tuple[Sentence, ...]:
    """Every sentence, each once for a reason."""
    nodes = [each for module in read_modules().values() for each in walk(module)]
    calls = [(node, place) for node, place in nodes if isinstance(node, ast.Call)]
    kinds = find_kinds()
    waiting = [each for call, place in calls for each in _read(call, place, kinds)]
    for node, place in nodes:
        if isinstance(node, ast.Dict):
            waiting += _read_wire(node, place)
    called: dict[Function, list[tuple[ast.Call, Place]]] = {}
    for call, place in calls:
        found = find_function(call.func, place)
        if found is not None:
            called.setdefault(found[0], []).append((call, place))
    sentences: dict[Sentence, None] = {}
    seen: set[tuple[ast.expr, str]] = set()
    while waiting:
        error = waiting.pop()
        if (error.message, error.reason) in seen:
            continue
        seen.add((error.message, error.reason))
        carrier = _find_carrier(error)
        if carrier is None:
            sentences |= dict.fromkeys(_say(error))
            continue
        for call, place in called.get(carrier, []):
            waiting += _carry(error, carrier, call, place)
    return tuple(sorted(_merge(sentences)))


@cache
def find_kinds() -> dict[tuple[str, str], _Kind]:
    """Every way an error is made, by its side (`ask`, `askd`) and its name."""
    found = {key: _Kind(reason, names, None) for key, (reason, names) in ROOTS.items()}
    waiting = [
        (node, module)
        for module in read_modules().values()
        if module.name != LIBRARY
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    ]
    grows = True
    while grows:  # what a class descends from may stand behind it
        grows = False
        for node, module in list(waiting):
            bases = [found.get((_side(module), _last_name(each))) for each in node.bases]
            base = next(filter(None, bases), None)
            if base is not None:
                key = (_side(module), node.name)
                found[key] = _describe(node, module, base)
                waiting.remove((node, module))
                grows = True
    return found


def _describe(node: ast.ClassDef, module: Module, base: _Kind) -> _Kind:
    """A class by what it says of itself, else by what it descends from."""
    reason, names, default = base.reason, base.names, base.default
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name(id="reason")], value=ast.Constant(value=str(word))):
                reason = word
            case ast.AnnAssign(target=ast.Name(id="reason"), value=ast.Constant(value=str(word))):
                reason = word
            case ast.FunctionDef(name="__init__"):
                names, default = tuple(parameters(each)), _default(each, "message")
                for call in ast.walk(each):
                    if isinstance(call, ast.Call) and _is_super(call):
                        place = Place(module, (each,))
                        reason = _find_reason(call, place, names=base.names) or reason
            case _:
                pass
    return _Kind(reason, names, default)


def _read(call: ast.Call, place: Place, kinds: dict[tuple[str, str], _Kind]) -> Iterator[_Error]:
    kind = kinds.get((_side(place.module), _last_name(call.func)))
    if kind is None and _is_super(call) and place.functions:
        kind = _find_own(place, kinds)
    if kind is None:
        return
    message = _argument(call, kind.names, "message") or kind.default
    if message is not None:
        reason = _find_reason(call, place, names=kind.names) or kind.reason
        code = _read_code(_argument(call, kind.names, "code"))
        yield _Error(message, place, reason, code, _argument(call, kind.names, "hint"))


def _find_own(place: Place, kinds: dict[tuple[str, str], _Kind]) -> _Kind | None:
    """What a class of errors descends from, where it says its own words in `__init__`."""
    for node in ast.walk(place.module.tree):
        if isinstance(node, ast.ClassDef) and place.functions[-1] in node.body:
            keys = [(_side(place.module), _last_name(each)) for each in (node, *node.bases)]
            own, *above = [kinds.get(each) for each in keys]
            base = next(filter(None, above), None)
            if own is None or base is None or "message" in own.names:
                return None
            return _Kind(own.reason, base.names, base.default)
    return None


def _find_reason(call: ast.Call, place: Place, *, names: tuple[str, ...]) -> str:
    reason = _argument(call, names, "reason")
    data = _argument(call, names, "data")
    if isinstance(data, ast.Name) and (found := find_assigned(data, place)) is not None:
        data, place = found
    if reason is None and isinstance(data, ast.Dict):
        reason = _read_dict(data).get("reason")
    if reason is None:
        return ""
    words = [each for each in find_texts(reason, place) if each in REASONS or each.isidentifier()]
    return words[0] if words else ""


def _read_dict(node: ast.Dict) -> dict[str, ast.expr]:
    return {
        key.value: value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _read_wire(node: ast.Dict, place: Place) -> Iterator[_Error]:
    """An error that is made as it goes over the wire."""
    said = _read_dict(node)
    if {"code", "message", "data"} <= set(said) and isinstance(data := said["data"], ast.Dict):
        reason = _read_dict(data).get("reason")
        words = find_texts(reason, place) if reason is not None else []
        known = [each for each in words if each in REASONS]
        yield _Error(said["message"], place, known[0] if known else "", None, None)


def _find_carrier(error: _Error) -> Function | None:
    """The function that was given the message, if it was."""
    if isinstance(error.message, ast.Name):
        for function in reversed(error.place.functions):
            if error.message.id in parameters(function):
                return function
    return None


def _carry(error: _Error, carrier: Function, call: ast.Call, place: Place) -> Iterator[_Error]:
    assert isinstance(error.message, ast.Name)
    names = tuple(parameters(carrier))
    message = _argument(call, names, error.message.id)
    message = message or _default(carrier, error.message.id)
    if message is None:
        return
    hint, where = error.hint, place
    if isinstance(hint, ast.Name) and hint.id in names:
        hint = _argument(call, names, hint.id)
    elif hint is not None and not isinstance(hint, ast.Constant):
        found = find_value(hint, error.place)
        hint = found[0] if found is not None else None
    reason = _find_reason(call, where, names=names) or error.reason
    code = _read_code(_argument(call, names, "code")) or error.code
    yield _Error(message, place, reason, code, hint)


def _say(error: _Error) -> Iterator[Sentence]:
    hints = find_texts(error.hint, error.place) if error.hint is not None else []
    said = [each for each in hints if is_said(each)]
    code = REASONS.get(error.reason) or error.code or errors.FAILED
    for text in find_texts(error.message, error.place):
        if is_said(text):
            yield Sentence(code, error.reason, text, said[0] if len(said) == 1 else "")


def _merge(sentences: dict[Sentence, None]) -> Iterator[Sentence]:
    """One of those that differ in what they advise alone."""
    best: dict[tuple[str, str], Sentence] = {}
    for each in sorted(sentences):
        best[each.reason, each.text] = each
    yield from best.values()


def _is_super(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "super().__init__"


def _argument(call: ast.Call, names: tuple[str, ...], name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    at = names.index(name) if name in names else len(call.args)
    return call.args[at] if at < len(call.args) else None


def _default(function: Function, name: str) -> ast.expr | None:
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(places), reversed(arguments.defaults), strict=False)]
    pairs += [
        (each, value)
        for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is not None
    ]
    return next((value for each, value in pairs if each.arg == name), None)


def _read_code(node: ast.expr | None) -> int | None:
    found = getattr(errors, _last_name(node), None) if node is not None else None
    return found if isinstance(found, int) else None


def _side(module: Module) -> str:
    return module.name.partition(".")[0]


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name):
            return name
        case _:
            return ""
