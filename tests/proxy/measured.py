"""Something to be counted, and metrics as a scrape shows them."""

from dataclasses import replace

from tsproxy.decisions.totals import Totals, bar
from tsproxy.model.outcome import Outcome, Peer, VerdictName
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reason, UnitGuess

ACCEPTED = Outcome(
    now_ms=0,
    peer=Peer("public", "192.0.2.1", 1),
    api_version=11,
    correlation_id=1,
    acks=-1,
    transactional_id=None,
    topic="orders",
    partition=0,
    batch=BatchFacts(2, "none", 100, 38, -1, -1, 0, 0),
    verdict=VerdictName.ACCEPTED,
    limits=None,
)
REJECTED = replace(
    ACCEPTED,
    verdict=VerdictName.REJECTED,
    reason=Reason.TOO_FAR_AHEAD,
    unit_guess=UnitGuess.NANOSECONDS,
    bad_records=5,
)

_COUNTED = {"batches": 20, "records": 300, "bytes": 4_000, "requests": 10}
_BARS = {0: bar(20, 300)}
TOTALS = replace(Totals.of(ACCEPTED), example=None, ahead=_BARS, behind=_BARS, **_COUNTED)


def rendered(metrics):
    """Series -> value."""
    lines = metrics.render().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}
