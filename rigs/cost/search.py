"""The search: a population of the worst of each kind, changed, crossed, measured and shrunk."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from rigs.cost.connection import Cost, run
from rigs.cost.genes import CLUSTER, Genes, changed, cluster_value, crossed, drawn, simpler, value
from tsproxy.wire import addresses
from tsproxy.wire.apis import APIS

KEPT: Final = "worst.json"
MIB: Final = 1 << 20
A_FRAME: Final = 2_048
"""Bytes that each request and answer counts at least: at 50 ms a MiB, a small one may cost 100 us."""
A_PARTITION: Final = 2_048
"""The same for a partition of a request. One that is rejected costs most."""
A_CONNECTION: Final = 16_384
"""The same for the connection itself, which costs more than its first bytes."""
A_HANDSHAKE: Final = 16_384
"""The same for a TLS handshake: OpenSSL alone takes 0.6 ms with a client's certificate."""
AGAIN: Final = 3
"""How often a measurement is repeated before it counts. The least of them does (`Cost.least`)."""
CLEARLY: Final = 1.05
"""So much worse must a session be to take another one's place."""
ENOUGH: Final = 0.93
"""A shrunk session must cost so much of the original."""


def a_mib(cost: Cost) -> float:
    """The cost of a MiB, where a frame, a partition and the connection count as so many bytes more."""
    return cost.together * MIB / size_of(cost)


def at_once(cost: Cost) -> float:
    """The cost of the longest turn."""
    return cost.at_once


def beside(cost: Cost) -> float:
    """The cost of a MiB in threads."""
    return cost.beside * MIB / size_of(cost)


def size_of(cost: Cost) -> int:
    """The bytes received, and those that small things count as."""
    requests = A_FRAME * cost.frames + A_PARTITION * cost.partitions
    connections = A_CONNECTION * cost.connections + A_HANDSHAKE * cost.handshakes
    return cost.received + requests + connections


MEASURES: Final[dict[str, Callable[[Cost], float]]] = {"a_mib": a_mib, "at_once": at_once, "beside": beside}

USUAL: Final = {"a_mib": 50.0, "at_once": 100.0, "beside": 1_000.0}
"""The bounds, and for threads a number that makes their scores comparable."""


def kind_of(genes: Genes) -> str:
    """The requests, and the configuration."""
    asked = {_asked(part) for part in genes.parts}
    asked = {each for each in asked if each.endswith(_MUCH_WORK)} or asked  # others lead to it
    return f"{asked.pop() if len(asked) == 1 else 'mixed'}, {_configured(genes)}"


def _asked(part: Mapping[str, Any]) -> str:
    if part["do"] == "produce":
        version = value(part, "version")
        made = next(text for most, text in _PRODUCES if version <= most)
        return made + _MUCH_WORK if value(part, "body") == "bomb" else made
    if part["do"] != "ask":
        return str(part["do"])
    api = value(part, "api")
    if api not in APIS:
        return "no API"
    is_read = api in addresses.LAYOUTS or api in (0, 1, 17, 18, 32, 36, 55)
    return APIS[api].name if is_read else "relayed"


_MUCH_WORK: Final = " of much work"
_PRODUCES: Final = ((2, "Produce 0-2"), (8, "Produce 3-8"), (12, "Produce 9-12"), (13, "Produce 13"))


def _configured(genes: Genes) -> str:
    def has(*names: str) -> bool:
        return any(cluster_value(genes.cluster, name) != CLUSTER[name][0] for name in names)

    if has("custom"):
        return "custom rule"
    if has("rules", "waivers"):
        return "rules, TLS" if has("tls") else "rules"
    if has("no_timestamp", "on_violation", "keep", "dead_letters", "extended"):
        return "rewriting"
    if has("mode", "candidate", "inspect", "max_jump_ahead"):
        return "counting"
    return "greeted" if has("tls", "load_balancer") else "plain"


@dataclass(frozen=True, slots=True)
class Found:
    """The worst of one kind by one measure. `score` is in ms, or ms a MiB."""

    genes: Genes
    score: float

    def to_json(self, kind: str, name: str) -> dict[str, Any]:
        return {"kind": kind, "measure": name, "score": round(self.score, 1), **self.genes.to_json()}


class Search:
    """`worst` is by kind and measure. `folder` keeps it between runs."""

    def __init__(self, random: Random, folder: Path) -> None:
        self.evaluated = 0
        self.random = random
        self.seconds = 0.0
        self.worst: dict[tuple[str, str], Found] = {}
        self.errors: dict[str, Genes] = {}
        self._folder = folder

    def load(self, given: Iterable[Genes]) -> None:
        """Begins with these, measured anew: the product may have changed."""
        for genes in given:
            self.try_one(genes)

    def run(self, seconds: float, share: float = 1.0) -> None:
        """Searches for so many seconds of CPU, on this share of a core."""
        began = time.process_time()
        kept_at = began
        while time.process_time() - began < seconds:
            before = time.process_time()
            self.try_one(self.next_one())
            time.sleep((time.process_time() - before) * (1 / share - 1))
            if time.process_time() - kept_at > 20:
                self.keep()
                kept_at = time.process_time()
        self.seconds += time.process_time() - began
        self.keep()

    def next_one(self) -> Genes:
        """A new session, mostly one of the worst with some changes."""
        random = self.random
        if not self.worst or random.random() < 0.15:
            return drawn(random)
        found = tuple(self.worst.items())
        genes = self._picked(found).genes
        if random.random() < 0.2:
            genes = crossed(genes, self._picked(found).genes, random)
        for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
            genes = changed(genes, random)
        return genes

    def _picked(self, found: Sequence[tuple[tuple[str, str], Found]]) -> Found:
        """One of the worst of all kinds; often one that is worse than two others."""
        of_each = self.random.choices(found, k=self.random.choice((1, 3)))
        return max(of_each, key=lambda each: each[1].score / USUAL[each[0][1]])[1]

    def try_one(self, genes: Genes) -> None:
        """Measures a session, and keeps it where it is the worst of its kind."""
        self.evaluated += 1
        try:
            cost = run(genes)
        except Exception as error:  # the harness's fault or the product's: both are worth a look
            self.errors.setdefault(f"{type(error).__name__}: {error}"[:200], genes)
            return
        kind = kind_of(genes)
        better = [name for name in MEASURES if self._is_worse(kind, name, MEASURES[name](cost))]
        if not better:
            return
        least = Cost.least([cost, *(run(genes) for _ in range(AGAIN))])
        for name in better:
            score = MEASURES[name](least)
            if self._is_worse(kind, name, score):
                self.worst[kind, name] = Found(genes, score)

    def _is_worse(self, kind: str, name: str, score: float) -> bool:
        known = self.worst.get((kind, name))
        return score > 0.5 and (known is None or score > known.score * CLEARLY)

    def keep(self) -> None:
        """Writes the worst into the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        rows = [found.to_json(kind, name) for (kind, name), found in sorted(self.worst.items())]
        made = self._folder / "new.json"
        made.write_text(json.dumps(rows))
        made.rename(self._folder / KEPT)


def shrunk(genes: Genes, name: str, patience: int) -> Genes:
    """The simplest session of the same kind that costs about as much. It makes so many attempts."""
    kind, score = kind_of(genes), MEASURES[name]
    wanted = score(run(genes)) * ENOUGH
    went_on = True
    while went_on:
        went_on = False
        for simple in simpler(genes):
            patience -= 1
            if patience < 0:
                return genes
            if kind_of(simple) == kind and score(run(simple)) >= wanted:
                genes, went_on = simple, True
                break
    return genes


def kept(folder: Path) -> list[dict[str, Any]]:
    """The rows that the last run has left."""
    path = folder / KEPT
    return json.loads(path.read_text()) if path.exists() else []
