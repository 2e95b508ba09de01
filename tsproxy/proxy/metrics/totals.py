"""The metrics of several processes as one. Pure.

Counters and histograms are added up, including the counts of processes that have ended: if a total shrank
when a worker restarts, Prometheus would take it for a reset. Gauges describe the current state, so only
running workers count; `catalogue` says how they are combined.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.metrics_core import Metric

from tsproxy.proxy.metrics.catalogue import ALL
from tsproxy.proxy.metrics.described import Joined

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric of one or more processes. `samples`: (sample's name, labels) -> value."""

    name: str
    kind: str
    documentation: str
    samples: Mapping[tuple[str, Labels], float]

    @property
    def is_gauge(self) -> bool:
        return self.kind == "gauge"


Families = Mapping[str, Family]


class _Now(Mapping[str, Family]):
    """The metrics at one moment. Most pages show a few of them, and a metric may have hundreds of series, so
    each becomes a Family when somebody asks for it."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._made: dict[str, Family] = {}

    def __getitem__(self, name: str) -> Family:
        if name not in self._made:
            it = self._metrics[name]
            samples = {(sample.name, tuple(sample.labels.items())): sample.value for sample in it.samples}
            self._made[name] = Family(name, it.type, it.documentation, samples)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


def families_now(metrics: Iterable[Metric]) -> Families:
    return _Now(metrics)


def rows(families: Families, sample: str, **labels: str) -> list[tuple[dict[str, str], float]]:
    """The labels and the value of each series of a counter or gauge that has these labels."""
    family = families.get(sample) or families.get(sample.removesuffix("_total"))
    samples = family.samples if family else {}
    every = ((dict(has), value) for (name, has), value in samples.items() if name == sample)
    return [(has, value) for has, value in every if labels.items() <= has.items()]


def as_lines(families: Families) -> list[Any]:
    """The metrics as a worker reports them in JSON: [name, kind, documentation, [[sample, labels, value],
    ...]]."""
    return [
        [
            family.name,
            family.kind,
            family.documentation,
            [[sample, dict(labels), value] for (sample, labels), value in family.samples.items()],
        ]
        for family in families.values()
    ]


def families_of(lines: Sequence[Any]) -> Families:
    """The metrics from the result of `as_lines`."""
    return {
        name: Family(
            name,
            kind,
            documentation,
            {(sample, tuple(labels.items())): value for sample, labels, value in samples},
        )
        for name, kind, documentation, samples in lines
    }


def counts(families: Families) -> Families:
    """The metrics that outlive the process that counted them."""
    return {name: family for name, family in families.items() if not family.is_gauge}


def joined(parts: Iterable[Families]) -> Families:
    """The sum of `parts`, as if they came from one process."""
    whole: dict[str, Family] = {}
    for part in parts:
        for name, family in part.items():
            whole[name] = _join(whole[name], family) if name in whole else family
    return whole


def _join(one: Family, other: Family) -> Family:
    join = ALL[one.name].joined.of if one.is_gauge and one.name in ALL else Joined.SUM.of
    samples = dict(one.samples)
    for key, value in other.samples.items():
        samples[key] = join(samples[key], value) if key in samples else value
    return Family(one.name, one.kind, one.documentation, samples)


_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_NUMBERS: Final = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def as_text(families: Families) -> bytes:
    """The text of a scrape (Prometheus text format 0.0.4). Labels are in the order of their names, as other
    exporters write them.

    The library's own `generate_latest` checks each name and label again for each sample: 2 ms of the event
    loop for 300 rules, where this takes a third. Names are those of `catalogue`, so only values are escaped.
    """
    lines: list[str] = []
    for family in families.values():
        name = f"{family.name}_total" if family.kind == "counter" else family.name
        meaning = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
        lines.append(f"# HELP {name} {meaning}\n# TYPE {name} {family.kind}\n")
        for (sample, labels), value in family.samples.items():
            number = repr(float(value))
            lines.append(f"{sample}{_braces(labels)} {_NUMBERS.get(number, number)}\n")
    return "".join(lines).encode("utf-8", "backslashreplace")  # no name ends a scrape


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    pairs = [f'{name}="{value.translate(_ESCAPES)}"' for name, value in sorted(labels)]
    return f"{{{','.join(pairs)}}}"
