"""Mutants of a module: the same source with one comparison, bound, constant, connective or condition
changed, or without one call."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Final

ROOT: Final = Path(__file__).parents[2]

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitXor: ast.BitAnd,
}
_BARE: Final = (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr, ast.Subscript)
"""Conditions that the other changes would leave as they are."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: in which file, between which lines, what, and how it is made."""

    path: str
    line: int
    change: str
    statement: range
    """The lines of the statement that it is in, of a compound one those before its body."""
    node: int
    how: tuple[str, int, object]

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"

    def code(self) -> CodeType:
        """The module with the change. Line numbers stay as they are."""
        mutated = copy.deepcopy(_tree(self.path))
        _apply(list(_code(mutated))[self.node], self.how)
        return compile(ast.fix_missing_locations(mutated), str(ROOT / self.path), "exec")


@cache
def untouched(path: str) -> CodeType:
    return compile(_tree(path), str(ROOT / path), "exec")


def mutants(path: str) -> Iterator[Mutant]:
    """Every mutant of the module. Annotations, decorators, docstrings and texts stay as they are."""
    tree = _tree(path)
    statements = _statements(tree)
    for at, node in enumerate(_code(tree)):
        for how in _changes(node):
            changed = copy.deepcopy(node)
            before = ast.unparse(changed)
            after = "nothing" if how[0] == "call" else ast.unparse(_apply(changed, how))
            yield Mutant(path, node.lineno, f"{before} -> {after}", statements[node], at, how)


@cache
def _tree(path: str) -> ast.Module:
    tree = ast.parse((ROOT / path).read_text())
    for node in ast.walk(tree):
        for name in ("test", "ifs", "guard"):
            value = getattr(node, name, [])
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    one.is_condition = True
    return tree


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """The expressions and calls that can be changed, in a fixed order."""
    decorators = [one for node in ast.walk(tree) for one in getattr(node, "decorator_list", ())]
    unchanged = {node for one in decorators for node in ast.walk(one)}
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns") or node in unchanged:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.expr | ast.Expr) and not _is_annotation(node, name):
                    yield child


def _is_annotation(node: ast.AST, name: str) -> bool:
    is_type = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and name in ("left", "right")
    return is_type and any(isinstance(x, ast.Constant) and x.value is None for x in (node.left, node.right))


def _statements(tree: ast.AST) -> dict[ast.AST, range]:
    """For each node: the lines of the innermost statement or branch of a match that holds it."""
    found: dict[ast.AST, range] = {}
    todo: list[tuple[ast.AST, range]] = [(tree, range(0))]
    while todo:
        node, lines = todo.pop()
        if isinstance(node, ast.stmt | ast.match_case):
            first = min(getattr(one, "lineno", 1 << 30) for one in ast.walk(node))
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            if body:
                last = min(getattr(one, "lineno", 1 << 30) for one in ast.walk(body[0])) - 1
            else:
                last = max(getattr(one, "end_lineno", 0) or 0 for one in ast.walk(node))
            lines = range(first, max(first, last) + 1)
        found[node] = lines
        todo.extend((child, lines) for child in ast.iter_child_nodes(node))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[str, int, object]]:
    match node:
        case ast.Compare(ops=ops):
            yield from (("compare", i, _COMPARISONS[type(op)]) for i, op in enumerate(ops))
        case ast.BoolOp(op=op):
            yield "bool", 0, ast.Or if isinstance(op, ast.And) else ast.And
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            yield "binary", 0, _OPERATORS[type(op)]
        case ast.UnaryOp(op=ast.Not()):
            yield "not", 0, None
        case ast.Constant(value=bool(value)):
            yield "constant", 0, not value
        case ast.Constant(value=int(value)):
            yield "constant", 0, value + 1
            yield "constant", 0, value - 1
        case ast.Expr(value=ast.Call(func=func)) if ast.unparse(func) != "assert_never":
            yield "call", 0, None
    if isinstance(node, _BARE) and getattr(node, "is_condition", False):
        yield "condition", 0, None


def _apply(node: ast.AST, how: tuple[str, int, object]) -> ast.AST:
    """The node, changed where it stands."""
    kind, at, new = how
    match kind:
        case "compare":
            node.ops[at] = new()
        case "bool" | "binary":
            node.op = new()
        case "not":
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case "constant":
            node.value = new
        case "call":
            node.value = ast.copy_location(ast.Constant(...), node.value)
        case "condition":
            same = copy.copy(node)
            node.__class__ = ast.UnaryOp
            node.op, node.operand = ast.Not(), same
    return node
