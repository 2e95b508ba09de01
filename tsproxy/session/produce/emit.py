"""The effect `Emit`, in a module of its own: a thread that judges a request makes these effects, too."""

from dataclasses import dataclass

from tsproxy.model.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Emit:
    """The outcome of one batch is known: record it in the decision log."""

    outcome: Outcome
