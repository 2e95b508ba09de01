"""The worst of each kind, in the repository: `worst.json`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rigs.cost.connection import Cost, counted, ignored, run
from rigs.cost.genes import CLUSTER, Genes, frozen
from rigs.cost.search import MEASURES, shrunk

PATH: Final = Path(__file__).with_name("worst.json")
LOOPS: Final = ("a_mib", "at_once")
"""The measures of the event loop."""
WORTH_KEEPING: Final = 10.0
"""In ms, or ms a MiB."""
PATIENCE: Final = 40
REPEATED: Final = 7
"""How often a session is measured for the milliseconds that are stored with it."""


def store(rows: Iterable[Mapping[str, Any]]) -> int:
    """Shrinks what a search has left, and writes it with its bytecodes. Returns how many there are.

    The stored sessions are small: the cost of a byte shows in 24 KB, and a test should not take long.
    """
    kept: dict[str, dict[str, Any]] = {}
    for row in rows:
        name, small = row["measure"], {**row["cluster"], "most_bytes": CLUSTER["most_bytes"][0]}
        genes = frozen(small, row["parts"])
        if name in LOOPS and _ms(genes, name) >= WORTH_KEEPING:
            genes = shrunk(genes, name, PATIENCE)
            kept.setdefault(genes.identity, _row(row["kind"], name, genes))
    made = sorted(kept.values(), key=lambda each: (each["measure"], each["kind"]))
    PATH.write_text("[\n" + ",\n".join(json.dumps(each) for each in made) + "\n]\n")
    return len(made)


def stored() -> list[dict[str, Any]]:
    return json.loads(PATH.read_text())


def genes_of(row: Mapping[str, Any]) -> Genes:
    return frozen(row["cluster"], row["parts"])


def bytecodes_of(genes: Genes) -> Cost:
    """The cost of a session in bytecodes of the event loop. They are the same in each run."""
    return run(genes, counted, ignored)


def _row(kind: str, measure: str, genes: Genes) -> dict[str, Any]:
    cost = bytecodes_of(genes)
    counts = {"at_once": int(cost.at_once), "together": int(cost.together)}
    return {
        "kind": kind,
        "measure": measure,
        "ms": round(_ms(genes, measure), 1),
        "bytecodes": counts,
        **genes.to_json(),
    }


def _ms(genes: Genes, measure: str) -> float:
    return MEASURES[measure](Cost.least([run(genes) for _ in range(REPEATED)]))
