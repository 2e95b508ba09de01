"""Changes between any two events: configuration, view, certificates, clocks, and the drain."""

import asyncio
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from rigs.simulated.broker import LATE_NODE, NODES
from rigs.simulated.history import LEAK
from rigs.simulated.requests import KNOWN, SHORT_LIMIT_MS, UNKNOWN
from tests.session.conversation import DAY_MS, HOUR_MS, id_of
from tsproxy.config import load
from tsproxy.config.document import parse_yaml
from tsproxy.model.addresses import Address
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.brokers.facts import ClusterFacts
from tsproxy.proxy.connections.drain import drain

USUAL = TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS)
STRICT = replace(USUAL, after_max_ms=SHORT_LIMIT_MS)

BROKER = Address(LEAK.decode(), 9_092)

SETTINGS = {
    "usual": "",
    "one at a time": "limits: { in_flight_requests: 1 }",
    "no throttle": "limits: { throttle: 'off' }",
    "adaptive": "policy: { defaults: { inspect: { compressed: adaptive } } }",
    "strict": "policy: { rules: [{ name: r, message.timestamp.after.max.ms: 10m }] }",
    "audit": "policy: { mode: audit }",
    "tight": "limits: { idle: 2s, stalled_frame: 1s, buffered: 1MiB, connections_per_address: 1 }",
}
"""Configurations that a reload may bring. Two of them change what a world may expect."""

LENIENT, TIGHT = "audit", "tight"


@cache
def config(name: str):
    servers = f"['{BROKER}', 'other-{BROKER}']"
    text = f"upstream: {{ bootstrap_servers: {servers} }}\nlisteners: [{{ bind: '127.0.0.1:9192' }}]\n"
    return load(parse_yaml(text + SETTINGS[name] + "\n", "test"), {})


def facts(nodes=NODES, *, is_strict=False, knows_all=False, needs_sasl=False) -> ClusterFacts:
    limits = STRICT if is_strict else USUAL
    topics = (*KNOWN, UNKNOWN) if knows_all else KNOWN
    return ClusterFacts(
        "cluster",
        MappingProxyType(dict.fromkeys(nodes, BROKER)),
        MappingProxyType(dict.fromkeys(topics, limits)),
        needs_sasl,
        topic_names=MappingProxyType({id_of(topic): topic for topic in topics}),
    )


class Changes:
    """The changes of one world: some at moments that the seed chose, some when the proxy asks for them."""

    def __init__(self, world, draws) -> None:
        self._draws = draws.stream("changes")
        self._world = world
        self._facts = {
            "nodes": NODES,
            "is_strict": False,
            "knows_all": False,
            "needs_sasl": world.needs_sasl,
        }
        self._may_serve_late = self._draws.has(0.9, f"node {LATE_NODE} can be served")
        if not self._may_serve_late:
            world.excuses.append("an answer names a node that is never served")

    def plan(self) -> None:
        """Each kind of change may come, at any moment of the time in which most connections live."""
        for name, probability, change in (
            ("reload", 0.4, self._reload),
            ("another reload", 0.3, self._reload),
            ("limits", 0.3, self._change_limits),
            ("limits again", 0.3, self._change_limits),
            ("suspension", 0.1, self._suspend),
            ("certificate", 0.3, self._world.renew_certificate),
            ("clock step", 0.2, self._step_clock),
            ("versions", 0.3, lambda: self._world.listener.offer((0, 13))),
            ("sample", 0.5, self._world.sampler.arm),
            ("interval", 0.5, self._world.end_interval),
            ("another interval", 0.5, self._world.end_interval),
            ("drain", 0.2, self._drain),
        ):
            when_s = self._draws.random() ** 3 * 2.0
            if self._draws.has(probability, name):
                self._at(when_s, name, change)

    def want_topic(self, _topic: object, _address: str) -> None:
        if self._draws.random() < 0.7:
            self._at(self._draws.soon(), "topic found", lambda: self._apply(knows_all=True))

    def want_node(self, node_id: int, _: object) -> None:
        if node_id == LATE_NODE and self._may_serve_late:
            self._at(self._draws.soon(), "node found", lambda: self._apply(nodes=(*NODES, LATE_NODE)))

    def begin(self) -> None:
        self._world.listener.apply_facts(facts(**self._facts))

    def _at(self, seconds: float, name: str, change) -> None:
        def happens() -> None:
            self._world.note(name)
            change()

        self._world.loop.after(seconds, happens)

    def _apply(self, **changed) -> None:
        if self._world.is_draining:  # as the proxy itself: a new broker would open a port
            if "nodes" in changed:
                self._world.excuses.append("an answer names a node that was found during the drain")
            return
        self._facts.update(changed)
        self._world.listener.apply_facts(facts(**self._facts))

    def _change_limits(self) -> None:
        self._apply(is_strict=not self._facts["is_strict"])

    def _reload(self) -> None:
        name = self._draws.choice(list(SETTINGS))
        if name == TIGHT:
            self._world.excuses.append("tight limits")
        self._world.set_lenient("reload", name == LENIENT)
        self._world.limits.apply(config(name))
        self._world.listener.apply(config(name))
        self._world.set_strict_from_now()

    def _suspend(self) -> None:
        self._world.set_lenient("suspension", True)
        self._world.listener.suspend(True)
        self._at(self._draws.random(), "suspension over", self._resume)

    def _resume(self) -> None:
        self._world.listener.suspend(False)
        self._world.set_lenient("suspension", False)

    def _step_clock(self) -> None:
        self._world.clock.offset_ms += self._draws.randint(-240_000, 240_000)

    def _drain(self) -> None:
        timeout_s = self._draws.choice((30.0, 30.0, 1.0, 0.05))
        stop_now = asyncio.Event()
        if self._draws.random() < 0.1:
            self._at(self._draws.random(), "drain ended", stop_now.set)
        self._world.drain(drain([self._world.listener], timeout_s, stop_now))
