"""The two sources of a replay: `topic` and `decisions`. Each names the facts that it cannot know."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import ConversationError
from tsproxy.config.settings import Config
from tsproxy.model.words import many
from tsproxy.offline.replay.cluster_view import view_of
from tsproxy.offline.replay.histograms import FILES, Decisions
from tsproxy.offline.replay.tables import Replayed
from tsproxy.offline.replay.tail import tail
from tsproxy.offline.replay.tally import Tally

T = TypeVar("T")
Progress = Callable[[str], None]

TOPIC_UNKNOWN: Final = (
    "what the broker has rejected already, and good records that would be rejected along with bad ones of "
    "their batch",
    "who sent a record: rules for clients, principals and addresses did not fit",
    "when a record arrived: it was judged by the time at which it was read",
    "what custom rules and max_jump_ahead say of a batch as it was sent: here they were asked about "
    "one record at a time",
)
DECISIONS_UNKNOWN: Final = (
    "which records of a batch are at fault: batches are rejected as a whole, and counted so",
    "records without a timestamp, and values that rules reject by name (no_timestamp, zero, negative)",
    "what custom rules and max_jump_ahead say: they are asked about the times of a batch",
    "client software, and all but one address of a client; what a topic's limits were at each moment: "
    "those that the log told last before a line were taken",
)


class ReplayError(Exception):
    """Nothing can be replayed. The text is for the user."""


def topic(
    config: Config, name: str, clock: Clock, progress: Progress, *, duration_ms: int, most_records: int | None
) -> Replayed:
    """Read a topic from its end, for the given time or until Ctrl-C. Raises ReplayError."""
    tally, partitions = Tally(), 0
    line = tally.line(name, None)

    def began(count: int) -> None:
        nonlocal partitions
        partitions = count
        print(
            f"tsproxy: reading {name} from its end, {many(count, 'partition')}", file=sys.stderr, flush=True
        )
        progress(f"{many(line.records, 'record')} read")

    async def read() -> None:
        view = await view_of(config, [name])
        await tail(
            config.upstream,
            name,
            view,
            line,
            clock=clock,
            duration_ms=duration_ms,
            most_records=most_records,
            began=began,
        )

    with suppress(KeyboardInterrupt):  # Ctrl-C shows the results so far
        _answer(read())
    return Replayed(f"topic {name}", {"partitions": partitions}, TOPIC_UNKNOWN, tally)


def decisions(config: Config, directory: Path) -> Replayed:
    """Apply thresholds to the histograms of a decision log. Raises ReplayError."""
    files = sorted(directory.glob(FILES))
    if not files:
        raise ReplayError(f"{directory} holds no decision log ({FILES})")
    found = Decisions(config.policy)
    try:
        found.read(files)
    except OSError as error:
        raise ReplayError(f"{error.filename}: {error.strerror}") from None
    facts = {"files": found.files, "counters": found.counters, "unreadable_lines": found.set_aside.count}
    for sentence in found.set_aside.sentences():
        print(f"tsproxy: set aside: {sentence}", file=sys.stderr)
    return Replayed(str(directory), facts, DECISIONS_UNKNOWN, found.tally, names_culprits=False)


def _answer(question: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(question)
    except ConversationError as error:
        raise ReplayError(str(error)) from None
