"""An incident: how it is seen, which alert it raises, where the runbook has it, and how it is played."""

import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

TOPIC = "incidents"
UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


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


class Wrapped(RunningProxy):
    """A proxy with its own mounts and limits, which `script` makes before it starts."""

    def __init__(self, script: str, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._script = script

    def _command(self) -> list[str]:
        text = f'set -e\n{self._script}\nexec "$@"'
        return [*UNSHARE, "bash", "-c", text, "-", *super()._command()]


class Incident:
    """`async with` it, a proxy stands before these brokers, and all is well. `begin` returns when it has
    begun. `repair` does what the runbook says, as far as that is no command of its page."""

    name: ClassVar[str]
    says: ClassVar[str]
    """Is in the first sentence of the page, and in a line of `/readyz?verbose`."""
    event: ClassVar[str]
    """The line of the log, with what `facts` have of it."""
    facts: ClassVar[Mapping[str, Any]] = {}
    series: ClassVar[Series]
    alert: ClassVar[str]
    section: ClassVar[str]
    """A heading of the runbook."""
    way_back: ClassVar[str] = ""
    """A word of the section's command that ends it."""
    brokers: ClassVar[str] = "plain"
    """The cluster that it needs: a key of `clusters.CLUSTERS`."""
    java: ClassVar[bool] = False
    """Java's client connects as well."""
    is_joined: ClassVar[bool] = True
    """New clients come all the time. Otherwise they end when the first one is served, and others stay."""
    topic: ClassVar[str] = TOPIC

    listener: str | None = None
    """The proxy has a configuration file whose listener has this, too."""
    script = ""
    """Commands of a shell of its own, before the proxy starts. `{0.folder}` is its folder."""
    bootstrap: str | None = None
    decisions: Path | None = None
    environment: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()

    def __init__(self, kafka: KafkaCluster) -> None:
        self.kafka = kafka
        self.variables: dict[str, str] = {}
        """The variables of the commands of the section."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self.folder = Path(stack.enter_context(TemporaryDirectory(prefix="tsproxy-incidents-")))
            self.config = self.folder / "tsproxy.yaml"
            await self.prepare()
            self.proxy = await stack.enter_async_context(self._made())
            stack.push_async_callback(self.end)
            self.clients = self.options()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _made(self) -> RunningProxy:
        more = {name: getattr(self, name) for name in ("decisions", "environment", "settings", "arguments")}
        bootstrap = self.bootstrap or self.kafka.bootstrap_servers
        if self.script:
            return Wrapped(self.script.format(self), bootstrap, **more)
        if self.listener is None:
            return RunningProxy(bootstrap, **more)
        brokers = "" if "brokers:" in self.listener else "brokers: { ports_from: 0 }, "
        self.config.write_text(
            f"upstream: {{ bootstrap_servers: [{bootstrap}] }}\n"
            f"listeners: [{{ bind: '127.0.0.1:0', {brokers}{self.listener} }}]\n"
        )
        return RunningProxy(config=self.config, **more)

    def options(self) -> ClientOptions:
        """How clients connect."""
        return replace(self.kafka.client_options(), bootstrap_servers=self.proxy.bootstrap_servers)

    async def prepare(self) -> None:
        """Before the proxy starts."""

    async def begin(self) -> None:
        raise NotImplementedError

    async def repair(self) -> None:
        """Nothing beside the command of the page, or it ends by itself."""

    async def end(self) -> None:
        """The brokers are as before, also if nobody repaired anything."""

    @classmethod
    def is_in(cls, line: Mapping[str, Any]) -> bool:
        """Whether this line of the log tells of it."""
        return line["event"] == cls.event and all(
            re.search(str(value), str(line.get(key))) for key, value in cls.facts.items()
        )
