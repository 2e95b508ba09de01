"""An incident: how it is seen, which alert it raises, and where the runbook has it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

Step = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Series:
    """A series that shows an incident: a level that becomes `ill`, or, without it, a count that grows."""

    metric: str
    labels: Mapping[str, str] = field(default_factory=dict)
    well: float = 0
    ill: float | None = None

    @property
    def name(self) -> str:
        """The series as the page of metrics has it."""
        labels = ",".join(f'{key}="{value}"' for key, value in sorted(self.labels.items()))
        return f"{self.metric}{{{labels}}}" if labels else self.metric

    def is_ill(self, before: Mapping[str, float], now: Mapping[str, float]) -> bool:
        """Whether the metric shows the incident. Both are whole pages of metrics."""
        value = now.get(self.name)
        if self.ill is None:
            return value is not None and value > before.get(self.name, 0)
        return value == self.ill


@dataclass(slots=True)
class Scene:
    """A proxy before its brokers. `begin` returns when the incident has begun. `repair` does what the runbook
    says, as far as that is no command of its page. `way_back` is a word of that command, `variables` are for
    all of the page's commands."""

    proxy: RunningProxy
    clients: ClientOptions
    begin: Step
    repair: Step
    topic: str = "orders"
    java: bool = False
    """Java's client connects as well."""
    is_joined: bool = True
    """New clients come all the time. Otherwise they end when the first one is served, and others stay."""
    variables: dict[str, str] = field(default_factory=dict)
    way_back: str = ""


@dataclass(frozen=True, slots=True)
class Incident:
    """`says` is in the first sentence of the page and in a line of `/readyz?verbose`. `event` is the line of
    the log, with what `facts` have of it. `section` is a heading of the runbook."""

    name: str
    text: str
    says: str
    event: str
    series: Series
    alert: str
    section: str
    scene: Callable[[KafkaCluster], AbstractAsyncContextManager[Scene]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    brokers: str = "plain"
    """Which cluster it needs: a key of `scenes.CLUSTERS`."""

    def is_in(self, line: Mapping[str, Any]) -> bool:
        """Whether this line of the log tells of it."""
        return line["event"] == self.event and all(
            re.search(str(value), str(line.get(key))) for key, value in self.facts.items()
        )
