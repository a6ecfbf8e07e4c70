"""Reads from the sources, without running them, which texts an expression can come to.

What is known only when the code runs is a hole and stands as `…`. It follows constants,
imports, local variables and what functions return; whatever else there is, is a hole. It
never guesses: a text that it gives is one that stands in the sources.
"""

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.house.floors import CLIENT, DAEMON

HOLE = "…"
DEEPEST = 6
"""Steps from a name to its text; functions that call themselves end here."""
MOST = 24
"""Texts of one expression: beyond, its alternatives are holes."""
_FIELD = re.compile(r"\{[^{}]*\}")
_SPEC = re.compile(r"%(?:\.\d+)?[a-z%]")
_HOLES = re.compile(rf"{HOLE}(?:\s*{HOLE})+")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Module:
    """A file of the sources: its dotted name, its tree, and what its names stand for."""

    name: str
    tree: ast.Module
    values: dict[str, ast.expr]
    functions: dict[str, Function]
    imports: dict[str, tuple[str, str | None]]


@dataclass(frozen=True, eq=False)
class Place:
    """Where an expression stands: in a module, and perhaps in functions of it, outermost first."""

    module: Module
    functions: tuple[Function, ...] = ()


@cache
def read_modules() -> dict[str, Module]:
    """Every module of the client and of the daemon, by its dotted name."""
    found = {}
    for root in (CLIENT, DAEMON):
        for path in sorted(root.rglob("*.py")):
            module = read_module(
                _name_module(path.relative_to(root)), path.read_text(encoding="utf-8")
            )
            found[module.name] = module
    return found


def read_module(name: str, text: str) -> Module:
    """Parse one module."""
    tree = ast.parse(text)
    module = Module(name, tree, {}, {}, {})
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                module.functions.setdefault(node.name, node)
            case ast.ImportFrom(module=str(source)):
                for each in node.names:
                    module.imports[each.asname or each.name] = (source, each.name)
            case _:
                pass
    for statement in tree.body:
        for name_of, value in _assignments(statement):
            module.values[name_of] = value
    return module


def walk(module: Module) -> Iterator[tuple[ast.AST, Place]]:
    """Yield every node of a module with the place that it stands in."""

    waiting: list[tuple[ast.AST, Place]] = [(module.tree, Place(module))]
    while waiting:
        node, place = waiting.pop()
        yield node, place
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = Place(module, (*place.functions, node))
        waiting += [(child, place) for child in reversed(list(ast.iter_child_nodes(node)))]


def find_texts(node: ast.expr, place: Place) -> list[str]:
    """Every text that an expression can come to, in the order of the sources; `…` for a hole."""
    found = dict.fromkeys(_tidy(each) for each in _texts(node, place, 0))
    return list(found)


def is_said(text: str) -> bool:
    """Whether a text has words of its own beside its holes."""
    return any(char.isalpha() for char in text.replace(HOLE, ""))


def fill_specs(text: str, fillings: Iterable[list[str]]) -> list[str]:
    """A text for `%` with its specifiers filled; where nothing is given, there are holes."""
    given = iter(fillings)
    pieces: list[list[str]] = []
    end = 0
    for match in _SPEC.finditer(text):
        pieces.append([text[end : match.start()]])
        pieces.append(["%"] if match[0] == "%%" else next(given, [HOLE]))
        end = match.end()
    return [_tidy(each) for each in _product([*pieces, [text[end:]]])]


def find_value(node: ast.expr, place: Place) -> tuple[ast.expr, Place] | None:
    """What a constant's name stands for, here or in the module that it comes from."""
    match node:
        case ast.Name(id=name):
            if name in place.module.values:
                return place.module.values[name], Place(place.module)
            source, other = place.module.imports.get(name, ("", None))
            return _look(source, other)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            source, other = place.module.imports.get(name, ("", None))
            return _look(f"{source}.{other}", attribute)
        case _:
            pass
    return None


def find_assigned(node: ast.Name, place: Place) -> tuple[ast.expr, Place] | None:
    """What a name stands for: the first that is assigned to it in a function around, or beyond."""
    for function in reversed(place.functions):
        for each in _own_nodes(function):
            for name, value in _assignments(each):
                if name == node.id:
                    return value, place
    return find_value(node, place)


def find_function(node: ast.expr, place: Place) -> tuple[Function, Place] | None:
    """The function that a call means, if it is one of the sources'; a method goes by its name."""
    match node:
        case ast.Name(id=name):
            modules = [(place.module, name)]
            if name in place.module.imports:
                source, other = place.module.imports[name]
                modules = (
                    [(read_modules()[source], other or "")] if source in read_modules() else []
                )
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            modules = [(place.module, name)]
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            source = ".".join(map(str, place.module.imports.get(owner, ())))
            modules = [(read_modules()[source], name)] if source in read_modules() else []
        case _:
            modules = []
    for module, name in modules:
        if name in module.functions:
            return module.functions[name], Place(module, (module.functions[name],))
    return None


def _texts(node: ast.expr, place: Place, depth: int) -> list[str]:
    if depth > DEEPEST:
        return [HOLE]

    def below(each: ast.expr) -> list[str]:
        return _texts(each, place, depth + 1)

    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return [f"{number:g}" if isinstance(number, float) else str(number)]
        case ast.JoinedStr(values=values):
            return _product([_piece(each, place, depth) for each in values])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _product([below(left), below(right)])
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            given = right.elts if isinstance(right, ast.Tuple) else [right]
            return [text for each in below(left) for text in fill_specs(each, map(below, given))]
        case ast.IfExp(body=body, orelse=orelse):
            return [*below(body), *below(orelse)]
        case ast.BoolOp(op=ast.Or(), values=values):
            return [text for each in values for text in below(each)]
        case ast.NamedExpr(value=value) | ast.Await(value=value):
            return below(value)
        case ast.Call():
            return _called(node, place, depth)
        case ast.Name(id=name):
            return _named(name, node, place, depth)
        case ast.Attribute():
            return _of_value(find_value(node, place), depth)
        case _:
            pass
    return [HOLE]


def _piece(node: ast.expr, place: Place, depth: int) -> list[str]:
    """Of an f-string: a constant of a name is filled in, anything else would be a guess."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    assert isinstance(node, ast.FormattedValue)
    value = node.value
    if isinstance(value, ast.Name | ast.Attribute) and (found := find_value(value, place)):
        texts = _of_value(found, depth)
        return texts if len(texts) == 1 else [HOLE]
    return [HOLE]


def _called(node: ast.Call, place: Place, depth: int) -> list[str]:
    match node.func:
        case ast.Attribute(attr="format", value=value):
            return [_FIELD.sub(HOLE, each) for each in _texts(value, place, depth + 1)]
        case ast.Attribute(attr="join", value=ast.Constant(value=str(between))):
            return _joined(between, node.args[0], place, depth)
        case ast.Name(id="next") if len(node.args) == 2:
            return [HOLE]
        case _:
            pass
    found = find_function(node.func, place)
    if found is None:
        return [HOLE]
    function, within = found
    returned = [
        text
        for each in _own_nodes(function)
        if isinstance(each, ast.Return) and each.value is not None
        for text in _texts(each.value, within, depth + 1)
    ]
    return returned if 0 < len(returned) <= MOST else [HOLE]


def _joined(between: str, node: ast.expr, place: Place, depth: int) -> list[str]:
    found = find_value(node, place)
    value, where = found or (node, place)
    if not isinstance(value, ast.Tuple | ast.List):
        return [HOLE]
    pieces = [_texts(each, where, depth + 1) for each in value.elts]
    spaced = [piece for each in pieces for piece in ([between], each)]
    return _product(spaced[1:])


def _named(name: str, node: ast.expr, place: Place, depth: int) -> list[str]:
    for function in reversed(place.functions):
        if name in parameters(function):
            return [HOLE]
        given = [
            text
            for each in _own_nodes(function)
            for assigned, value in _assignments(each)
            if assigned == name and not _mentions(value, name)
            for text in _texts(value, place, depth + 1)
        ]
        if given:
            return given if len(given) <= MOST else [HOLE]
    return _of_value(find_value(node, place), depth)


def _of_value(found: tuple[ast.expr, Place] | None, depth: int) -> list[str]:
    return [HOLE] if found is None else _texts(*found, depth + 1)


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters; its own object is none."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in every if each.arg not in ("self", "cls")]


def _look(source: str, name: str | None) -> tuple[ast.expr, Place] | None:
    module = read_modules().get(source)
    if module is None or name is None:
        return None
    if name in module.values:
        return module.values[name], Place(module)
    further, other = module.imports.get(name, ("", None))
    return _look(further, other) if further != source else None


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """What stands in a function, and not in one within it; in the order of the sources."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            for each, value in zip(names, values, strict=False):
                if isinstance(each, ast.Name):
                    yield each.id, value
        case _:
            pass


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _product(pieces: list[list[str]]) -> list[str]:
    count = 1
    for each in pieces:
        count *= max(1, len(each))
    if count > MOST:
        pieces = [each if len(each) == 1 else [HOLE] for each in pieces]
    return ["".join(each) for each in itertools.product(*pieces)]


def _tidy(text: str) -> str:
    return _HOLES.sub(HOLE, " ".join(text.split()))


def _name_module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
