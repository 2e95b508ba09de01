"""A mutant in a process that has loaded the module already: the functions that differ get other code.

That saves the imports, which cost more than most tests. It is impossible where the change is outside of
functions, and wrong where a function has run during the imports: such mutants are imported (`trial`).
"""

import gc
import inspect
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType

Functions = dict[CodeType, list[FunctionType]]


class CannotChangeError(Exception):
    """The mutant must be imported."""


def live_functions() -> Functions:
    """All functions of this process by their code."""
    found: Functions = defaultdict(list)
    gc.unfreeze()  # frozen objects are not listed, and conftest.py freezes all that collecting the tests made
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            found[one.__code__].append(one)
    return found


def replaced(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Each function that differs between two forms of a module. Raises CannotChangeError."""
    if before == after:
        return
    is_function = before.co_flags & inspect.CO_OPTIMIZED
    pieces, changed = (
        [const for const in code.co_consts if isinstance(const, CodeType)] for code in (before, after)
    )
    if is_function:
        yield before, after
    elif _shell(before) != _shell(after):
        raise CannotChangeError
    if len(pieces) != len(changed):
        raise CannotChangeError
    for piece, other in zip(pieces, changed, strict=True):
        yield from replaced(piece, other)


def _shell(code: CodeType) -> CodeType:
    return code.replace(
        co_consts=tuple(None if isinstance(const, CodeType) else const for const in code.co_consts)
    )


def change(functions: Functions, before: CodeType, after: CodeType) -> None:
    """Raises CannotChangeError where no function has the code that differs."""
    is_changed = False
    for old, new in replaced(before, after):
        for function in functions.get(old, ()):
            try:
                function.__code__ = new
            except ValueError as error:  # another number of variables from outside
                raise CannotChangeError from error
            is_changed = True
    if not is_changed:
        raise CannotChangeError
