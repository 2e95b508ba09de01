"""The cost of a policy: the candidate beside the limits in force, and a thousand rules against ten."""

from contextlib import ExitStack
from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.loads import KB1, KB100, Load
from benchmarks.proxies import Proxy, tsproxy
from benchmarks.rounds import in_rounds, ratio
from benchmarks.sections import Section

_ROUNDS_FACTOR: Final = 2
"""Ratios near 1 need more rounds than others, because noise is as large as the difference."""

_NO_CANDIDATE: Final = "policy: { candidate: { preset: none } }"
_CANDIDATE: Final = "policy: { candidate: { preset: none, message.timestamp.after.max.ms: 5m } }"


def _rules(count: int) -> str:
    """Rules for other topics, each tenth a regular expression, and one rule for all topics at the end."""
    patterns = (f"/team{n}-[0-9]+/" if n % 10 == 0 else f"team{n}-*" for n in range(count - 1))
    others = (f'  - {{ name: r{n}, match: {{ topics: ["{each}"] }} }}' for n, each in enumerate(patterns))
    last = "  - { name: everybody, message.timestamp.after.max.ms: 1h }"
    return "\n".join(["policy:", "  candidate: { preset: none }", "  rules:", *others, last])


_ROWS: Final = (
    ("a candidate that all lies within", Load(KB100), _CANDIDATE, _NO_CANDIDATE),
    ("1,000 rules against 10", Load(KB1), _rules(1_000), _rules(10)),
)


def policy(bench: Bench) -> Section:
    """CPU of tsproxy with one policy, as a ratio to its CPU with another."""
    rows = []
    for name, load, measured, base in _ROWS:
        with ExitStack() as stack:
            sink = stack.enter_context(bench.sink())
            targets = {
                each: stack.enter_context(
                    bench.proxy(Proxy(f"tsproxy, {each}", tsproxy("--loop", "uvloop", policy=section)), sink)
                )
                for each, section in (("measured", measured), ("base", base))
            }
            runs = in_rounds(
                bench.effort.rounds * _ROUNDS_FACTOR,
                {each: partial(bench.load, load, target) for each, target in targets.items()},
            )
        cost = ratio(*([run.cpu_per_request for run in runs[each]] for each in ("measured", "base")))
        rows.append((name, load.name, str(cost)))
    return Section(
        text="CPU of tsproxy per request, as a ratio to that without the candidate, or with 10 rules of "
        "which the last matches. Batches within the candidate's limits cost nothing, because the fast path "
        "has these limits as two bounds.",
        head=("policy", "load", "ratio"),
        rows=rows,
    )
