"""The fewest events that still break the same invariant: `shrink`."""

from collections.abc import Callable

from rigs.simulated.world import Result, run_world

MAX_RUNS = 2_000


def shrink(seed: int, tell: Callable[[str], object] = lambda _: None, adversaries: int = 0) -> Result:
    """Leaves out events of the world, in halves first and then one by one, while it still fails as it did.
    Returns the last world that failed, or the world itself if it holds."""
    found = run_world(seed, adversaries=adversaries)
    if found.violation is None:
        return found
    left_out: list[str] = []
    runs, size = 0, max(1, len(found.events) // 2)
    while size and runs < MAX_RUNS:
        start = 0
        while start < len(found.events) and runs < MAX_RUNS:
            without = [*left_out, *found.events[start : start + size]]
            runs += 1
            tried = run_world(seed, without, adversaries=adversaries)
            if tried.violation is not None and tried.violation.name == found.violation.name:
                left_out, found = without, tried
                tell(f"{len(found.events)} events still break {found.violation.name}")
            else:
                start += size
        size //= 2
    return run_world(seed, left_out, is_traced=True, adversaries=adversaries)
