"""Mutants of a module: the same source with one comparison, bound, constant or connective changed."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where, what, and the module's source with it."""

    path: str
    line: int
    change: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of the module. Annotations, decorators, docstrings and texts stay as they are."""
    tree = ast.parse(source)
    for at, node in enumerate(_code(tree)):
        for change in _changes(node):
            mutated = copy.deepcopy(tree)
            target = list(_code(mutated))[at]
            before = ast.unparse(target)
            _apply(target, change)
            after = ast.unparse(target)
            yield Mutant(path, node.lineno, f"{before} -> {after}", ast.unparse(mutated))


def _code(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions that can be changed, in a fixed order."""
    decorators = [one for node in ast.walk(tree) for one in getattr(node, "decorator_list", ())]
    untouched = {node for one in decorators for node in ast.walk(one)}
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns") or node in untouched:
                continue
            for child in value if isinstance(value, list) else [value]:
                is_expression = isinstance(
                    child, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp | ast.Constant
                )
                if is_expression and not _is_annotation(node, name):
                    yield child


def _is_annotation(node: ast.AST, name: str) -> bool:
    is_type = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and name in ("left", "right")
    return is_type and any(isinstance(x, ast.Constant) and x.value is None for x in (node.left, node.right))


def _changes(node: ast.expr) -> list[object]:
    match node:
        case ast.Compare(ops=ops):
            return [("compare", i, _COMPARISONS[type(op)]) for i, op in enumerate(ops)]
        case ast.BoolOp(op=op):
            return [("bool", 0, ast.Or if isinstance(op, ast.And) else ast.And)]
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            return [("binary", 0, _OPERATORS[type(op)])]
        case ast.UnaryOp(op=ast.Not()):
            return [("not", 0, ast.UAdd)]
        case ast.Constant(value=bool(value)):
            return [("constant", 0, not value)]
        case ast.Constant(value=int(value)):
            return [("constant", 0, value + 1), ("constant", 0, value - 1)]
    return []


def _apply(node: ast.expr, change: object) -> None:
    kind, at, new = change
    match kind:
        case "compare":
            node.ops[at] = new()
        case "bool" | "binary":
            node.op = new()
        case "not":
            node.op = ast.Not()
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case "constant":
            node.value = new
