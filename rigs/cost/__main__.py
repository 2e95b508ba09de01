"""`python -m rigs.cost [--minutes N] [--share S] [--seed S] [--store] [--show]`."""

import argparse
import time
from pathlib import Path
from random import Random

from rigs.cost.genes import Genes
from rigs.cost.search import Search, kept
from rigs.cost.stored import genes_of, store, stored

FOLDER = Path.home() / ".cache" / "tsproxy" / "cost"


def main() -> int:
    """Returns 1 if a session ended with an error."""
    options = argparse.ArgumentParser(prog="python -m rigs.cost", description=__doc__)
    options.add_argument("--minutes", type=float, default=1.0, metavar="N", help="of CPU")
    options.add_argument("--share", type=float, default=1.0, metavar="S", help="of a core")
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--folder", type=Path, default=FOLDER, help="where the search goes on")
    options.add_argument("--store", action="store_true", help="shrink what was found, for the repository")
    options.add_argument("--show", action="store_true", help="what was found, measured anew")
    chosen = options.parse_args()
    if chosen.store:
        print(f"{store(kept(chosen.folder))} sessions")
        return 0
    search = Search(Random(chosen.seed), chosen.folder)
    search.load([*map(Genes.of_json, kept(chosen.folder)), *map(genes_of, stored())])
    if not chosen.show:
        search.run(60 * chosen.minutes, chosen.share)
    for (kind, name), found in sorted(search.worst.items(), key=lambda it: (it[0][1], -it[1].score)):
        print(f"{name:8} {found.score:8.1f} ms  {kind:28} {found.genes.identity}")
    for error, genes in search.errors.items():
        print(f"ERROR {error}: {genes.identity}")
    print(f"{search.evaluated:,} sessions, {search.seconds:.0f} s of CPU, seed {chosen.seed}")
    return bool(search.errors)


if __name__ == "__main__":
    raise SystemExit(main())
