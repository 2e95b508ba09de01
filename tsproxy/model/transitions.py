"""Tables of states and causes, as h11 has them: `after` looks one up, `diagram` draws one.

A state with no row for a cause cannot meet it. If it does, that is a mistake of ours, and an error.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

StateT = TypeVar("StateT", bound=Enum)
CauseT = TypeVar("CauseT", bound=Enum)


class TransitionError(Exception):
    """A state has met a cause that the table does not have for it."""


def after(table: Mapping[StateT, Mapping[CauseT, StateT]], state: StateT, cause: CauseT) -> StateT:
    """The state that follows `state` upon `cause`. Raises TransitionError."""
    following = table[state].get(cause)
    if following is None:
        raise TransitionError(f"{cause.name} in {state.name}")
    return following


def diagram(table: Mapping[StateT, Mapping[CauseT, StateT]], *first: StateT) -> str:
    """The table as a Mermaid state diagram that begins with the states `first`."""
    lines = ["stateDiagram-v2", *(f"    [*] --> {state.name}" for state in first)]
    for state, row in table.items():
        for cause, following in row.items():
            lines.append(f"    {state.name} --> {following.name}: {cause.name.lower().replace('_', ' ')}")
    return "\n".join(lines) + "\n"
