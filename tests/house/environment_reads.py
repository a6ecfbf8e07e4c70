"""Reads from the sources which variables are looked at, by name, and which files are named.

It knows an environment by its name (`environ`, `env` and the like), and follows constants and
tables of names. Variables that the settings name are anybody's and are not here, and of files
only those whose name is written out.
"""

import ast
import re
from collections.abc import Iterator

from tests.house.texts import Place, find_texts, find_value, read_modules, walk

ENVIRONMENT = re.compile(r"(?:^|[._])(?:child_)?env(?:iron|ironment)?$")
FILE = re.compile(r"\.?[a-z][a-z_-]*(?:\.[a-z]+)*")
NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[a-z]+_proxy")


def find_names() -> set[str]:
    """Every variable that the client or the daemon looks for in an environment."""
    return {
        name
        for module in read_modules().values()
        for node, place in walk(module)
        for asked in _asked(node)
        for name in _names(asked, place)
        if NAME.fullmatch(name)
    }


def _asked(node: ast.AST) -> Iterator[ast.expr]:
    """What an expression asks an environment for."""
    match node:
        case ast.Call(func=ast.Attribute(attr="get" | "pop", value=owner), args=[name, *_]):
            if is_environment(owner):
                yield name
        case ast.Subscript(value=owner, slice=name):
            if is_environment(owner):
                yield name
        case ast.Compare(left=name, ops=[ast.In() | ast.NotIn()], comparators=[owner]):
            if is_environment(owner):
                yield name
        case ast.Call(args=[owner, names]):
            if is_environment(owner):
                yield names
        case (
            ast.DictComp(generators=[ast.comprehension(iter=names)])
            | ast.SetComp(generators=[ast.comprehension(iter=names)])
            | ast.ListComp(generators=[ast.comprehension(iter=names)])
            | ast.GeneratorExp(generators=[ast.comprehension(iter=names)])
            | ast.For(iter=names)
        ):
            if any(isinstance(each, ast.expr) and is_environment(each) for each in ast.walk(node)):
                yield names
        case _:
            pass


def is_environment(node: ast.expr) -> bool:
    """Whether an expression's name says that it is one."""
    return ENVIRONMENT.search(ast.unparse(node)) is not None


def _names(node: ast.expr, place: Place) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(name)):
            yield name
        case ast.Tuple(elts=each) | ast.List(elts=each) | ast.Set(elts=each):
            for one in each:
                yield from _names(one, place)
        case ast.Starred(value=value):
            yield from _names(value, place)
        case ast.Name() | ast.Attribute():
            found = find_value(node, place)
            if found is not None:
                yield from _names(*found)
        case _:
            pass


def find_files() -> set[str]:
    """Every name of a file or a directory that is set below another one."""
    found = set()
    for module in read_modules().values():
        for node, place in walk(module):
            match node:
                case ast.BinOp(op=ast.Div(), right=name):
                    found |= {each for each in find_texts(name, place) if FILE.fullmatch(each)}
                case _:
                    pass
    return found
