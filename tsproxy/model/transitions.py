"""Tables of states and causes, as in h11: `after` returns the next state.

A cause without an entry for a state cannot occur in that state. If it occurs, our code has a mistake, and
`after` raises an error.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

StateT = TypeVar("StateT", bound=Enum)
CauseT = TypeVar("CauseT", bound=Enum)


class TransitionError(Exception):
    """The table has no entry for this cause in this state."""


def after(table: Mapping[StateT, Mapping[CauseT, StateT]], state: StateT, cause: CauseT) -> StateT:
    """The state that follows `state` after `cause`. Raises TransitionError."""
    following = table[state].get(cause)
    if following is None:
        raise TransitionError(f"{cause.name} in {state.name}")
    return following
