"""Tables of states and causes, as h11 has them: `after` looks a state up.

A state with no row for a cause cannot meet it. If it does, that is a mistake of ours, and an error.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

StateT = TypeVar("StateT", bound=Enum)
CauseT = TypeVar("CauseT", bound=Enum)


class TransitionError(Exception):
    """The table has no such cause for the state."""


def after(table: Mapping[StateT, Mapping[CauseT, StateT]], state: StateT, cause: CauseT) -> StateT:
    """The state that follows `state` upon `cause`. Raises TransitionError."""
    following = table[state].get(cause)
    if following is None:
        raise TransitionError(f"{cause.name} in {state.name}")
    return following
