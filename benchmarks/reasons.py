"""Why a target may be missed: what the profiles show, by the words in the target's name.

A row here is an explanation, not an excuse: it stands in the report only beside a target that this very
run has missed. The first row whose words are all in the name is the one.
"""

from collections.abc import Sequence
from typing import Final

from benchmarks.sections import Verdict

_REASONS: Final[Sequence[tuple[tuple[str, ...], str]]] = (
    (
        ("TLS",),
        "with TLS, the event loop hands what it read to OpenSSL and what OpenSSL gave to us, a copy each, "
        "and calls Python for each record of 16 KiB; haproxy decrypts into the buffer that it sends from. "
        "What could be left out of a read without OpenSSL in our own hands is left out already",
    ),
    (
        ("asyncio",),
        "asyncio's loop is written in Python: each turn and each read of it costs several microseconds, "
        "before anything of ours is called",
    ),
    (
        ("64×",),
        "many connections with little on each: hardly two requests share a read, and what a read costs "
        "beside the system call (a turn of the loop, two calls into Python) is shared by none",
    ),
    (
        ("tsproxy, 100 KB",),
        "a request goes on when its end has come, not as it comes: by then its beginning is no longer in the "
        "nearest cache; and a thousand timestamps are read",
    ),
    (
        ("tsproxy, 1 MB",),
        "a request goes on when its end has come, not as it comes: it passes through main memory, where a "
        "relay's stream stays in the cache. Tried: with no timestamp read at all the ratio was still above "
        "1.2, and reading in smaller pieces changed nothing",
    ),
    (("tsproxy,",), "calls into Python once a read, and the event loop's own turn"),
    (
        ("against decompressing alone",),
        "beside the codec: the batch's header, the walk over its records, and a copy of what is decompressed",
    ),
    (
        ("walk",),
        "where records differ, a record's length must be known before the next is found. And nanoseconds are "
        "this machine's, shared with others: how fast it was just then, aiokafka's column shows",
    ),
    (
        ("20,000",),
        "each partition and topic of a request that is not read natively becomes an object of Python's, 2 to "
        "5 µs each: six bytes are enough for one, and 20,000 are the most that a request may have",
    ),
    (
        ("10,000 requests",),
        "a request that takes the long way costs 85 µs, and these have a hundred bytes each; others have "
        "their turn after 500 of them",
    ),
    (
        ("rejecting",),
        "an answer names each record that is rejected, in a sentence: it is larger than the batch",
    ),
)


def reasons(missed: Sequence[Verdict]) -> list[str]:
    """One sentence for each, its targets named together."""
    by_text: dict[str, list[str]] = {}
    for each in missed:
        by_text.setdefault(_reason(each.what), []).append(each.what)
    return [f"{'; '.join(names)}: {text}." for text, names in by_text.items()]


def _reason(what: str) -> str:
    return next(
        (text for words, text in _REASONS if all(word in what for word in words)), "not looked into yet"
    )
