"""The suspect records of a batch, in Python."""

from array import array

from tsproxy.model.kafka import wrap64
from tsproxy.model.records import Culprits, Records, Suspects
from tsproxy.wire import records


class Finder:
    """Finds the suspect records of a batch. The stub of `wire/readers` describes it.

    It keeps the pieces until the end; the native Finder keeps nothing of a piece.
    """

    __slots__ = ("_base_timestamp", "_count", "_most", "_pieces", "_suspects")

    def __init__(self, base_timestamp: int, count: int, suspects: Suspects, most: int) -> None:
        self._base_timestamp = base_timestamp
        self._count = count
        self._most = most
        self._pieces: list[bytes] = []
        self._suspects = suspects

    def feed(self, data: bytes | memoryview) -> None:
        self._pieces.append(bytes(data))

    def finish(self) -> Culprits:
        """The suspects in all pieces, up to the first fault."""
        columns: records.Columns = ([], [], [], [])
        records.walk(columns, b"".join(self._pieces), self._base_timestamp, self._count, False)
        times, deltas, key_sizes, value_sizes = columns
        needs_key, has_time = self._suspects.needs_key, self._suspects.has_time
        keyless = [needs_key and size < 0 for size in key_sizes]
        found = [at for at, time_ms in enumerate(times) if keyless[at] or has_time(time_ms)]
        listed = found[: max(0, self._most)]
        timely = next((at for at in found if not keyless[at]), None)
        if timely is not None and timely not in listed:
            listed.append(timely)
        return Culprits(
            len(found),
            array("i", listed),
            Records(
                array("q", [times[at] for at in listed]),
                array("q", [wrap64(deltas[at]) for at in listed]),
                array("i", [key_sizes[at] for at in listed]),
                array("i", [value_sizes[at] for at in listed]),
            ),
            None if timely is None else listed.index(timely),
        )
