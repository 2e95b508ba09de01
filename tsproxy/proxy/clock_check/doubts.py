"""The reasons to doubt this proxy's clock. Each change is logged once.

The kernel's word alone is information: in a virtual machine or a container the host often keeps the clock
right, and the kernel is never told. It becomes a warning if another witness doubts the clock, too.
"""

from collections.abc import Iterable
from enum import StrEnum

from prometheus_client.metrics_core import Metric

from tsproxy.log_events.catalogue import CLOCK_NOT_SYNCHRONISED, CLOCK_SUSPECTED, CLOCK_SUSPICION_ENDED
from tsproxy.proxy.metrics import catalogue


class Witness(StrEnum):
    """The source of a doubt: the kernel, a step that no broker's time has explained yet, or brokers by their
    own times."""

    KERNEL = "kernel"
    STEP = "step"
    BROKERS = "brokers"


class ClockWarnings:
    def __init__(self) -> None:
        self._texts: dict[Witness, str] = {}

    def put(self, witness: Witness, text: str) -> None:
        """Set the doubt of this witness."""
        is_new = witness not in self._texts
        self._texts[witness] = text
        if is_new:
            _log(witness, text)

    def end(self, witness: Witness, text: str) -> None:
        """This witness has no doubt. `text` says what ended it, if it had one."""
        if self._texts.pop(witness, None) is not None:
            CLOCK_SUSPICION_ENDED(by=witness.value, text=text)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each doubt, the brokers' first; none if only the kernel has one."""
        if not self._texts.keys() - {Witness.KERNEL}:
            return []
        return [self._texts[witness] for witness in reversed(Witness) if witness in self._texts]

    def collect(self) -> Iterable[Metric]:
        family = catalogue.CLOCK_SUSPECTED.levels()
        for witness in Witness:
            family.add_metric([witness.value], witness in self._texts)
        yield family


def _log(witness: Witness, text: str) -> None:
    if witness is Witness.KERNEL:
        CLOCK_NOT_SYNCHRONISED(text=text)
    else:
        CLOCK_SUSPECTED(by=witness.value, text=text)
