"""The reasons to doubt this proxy's clock. Each change is logged once."""

from collections.abc import Iterable
from enum import StrEnum

import structlog
from prometheus_client.metrics_core import Metric

from tsproxy.proxy.metrics.catalogue.clock import CLOCK_SUSPECTED

log = structlog.get_logger()


class Witness(StrEnum):
    """The source of a doubt: the kernel, or brokers by their own times."""

    KERNEL = "kernel"
    BROKERS = "brokers"


class Doubts:
    def __init__(self) -> None:
        self._texts: dict[Witness, str] = {}

    def put(self, witness: Witness, text: str | None) -> None:
        """Set the doubt of this witness. `text` is None if it has no doubt."""
        was = self._texts.pop(witness, None)
        if text is not None:
            self._texts[witness] = text
        if text is not None and was is None:
            log.warning("clock_suspected", by=witness.value, text=text)
        elif text is None and was is not None:
            log.info("clock_suspicion_ended", by=witness.value)

    @property
    def texts(self) -> list[str]:
        return [self._texts[witness] for witness in Witness if witness in self._texts]

    def collect(self) -> Iterable[Metric]:
        family = CLOCK_SUSPECTED.levels()
        for witness in Witness:
            family.add_metric([witness.value], witness in self._texts)
        yield family
