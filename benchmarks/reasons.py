"""Reasons for missed targets, from profiles, by words in the target's name.

The page shows a reason only if the same run missed the target. The first row whose words are all in the
target's name is used.
"""

from collections.abc import Sequence
from typing import Final

from benchmarks.sections import Verdict

_REASONS: Final[Sequence[tuple[tuple[str, ...], str]]] = (
    (
        ("TLS",),
        "with TLS, the event loop copies received bytes to OpenSSL and decrypted bytes to the proxy, and "
        "it calls Python for each record of 16 KiB. haproxy decrypts into the buffer from which it sends. "
        "The profile (Where the CPU goes) has the copies as libc (memmove, and memset of buffers) and the "
        "calls as libpython. Everything that can be left out of a read without replacing the loop's use of "
        "OpenSSL is left out already. Kernel TLS (SSL_OP_ENABLE_KTLS) does not help: OpenSSL uses it only "
        "if it reads and writes the socket itself, and asyncio and uvloop give it buffers in memory "
        "(MemoryBIO) instead. The machine on which this was found has a kernel without it (CONFIG_TLS is "
        "not set), so haproxy with kernel TLS was not measured. Tried: aiofastnet 1.2.0 in place of the "
        "loop's TLS. It crashes (SIGSEGV) if a context has a callback for host names (sni_callback), and "
        "the proxy's contexts do",
    ),
    (
        ("asyncio",),
        "asyncio's event loop is written in Python. Each turn and each read costs several microseconds "
        "before it calls the proxy: libpython in the profile (Where the CPU goes)",
    ),
    (
        ("64×",),
        "many connections have little data each, so two requests hardly ever share a read. Each request pays "
        "alone for its read: the system call, a turn of the event loop and two calls into Python",
    ),
    (
        ("tsproxy, 100 KB",),
        "a request is forwarded when its end has arrived, not while it arrives. By then its beginning is no "
        "longer in the nearest cache. And a thousand timestamps are read",
    ),
    (
        ("tsproxy, 1 MB",),
        "a request is forwarded when its end has arrived, not while it arrives. It passes through main "
        "memory, while the stream of other proxies stays in the cache. Tried: with no timestamp read at all "
        "the ratio was still above 1.2, and reading in smaller pieces changed nothing",
    ),
    (
        ("consuming, 1 MB, broker",),
        "a broker's answer comes in pieces of about 14 KB, so there are 70 reads a MB, each with calls into "
        "Python and a turn of the event loop. haproxy reads as often (strace counted 886 reads and 826 sends "
        "for 12 MB there, 880 and 842 here), but each of its reads is cheaper. The sink's answers come in "
        "large pieces, and cost less than haproxy's. Not tried: to wait for larger pieces, which would delay "
        "answers",
    ),
    (
        ("real clients", "plain"),
        "librdkafka and franz-go send requests of 1 MB, which arrive in pieces. A request is forwarded when "
        "its end has arrived. By then its beginning, and the kernel's memory for it, are no longer in the "
        "nearest cache: perf has half of tsproxy's CPU in the copy to the broker's socket (_copy_from_iter), "
        "and an eighth of haproxy's, which sends each piece at once. Java sends 16 KB, and meets the target",
    ),
    (
        ("real clients", "lz4"),
        "as for plain records, a request of 1 MB is forwarded when its end has arrived. An eighth of "
        "tsproxy's CPU is libpython: each read calls it, each timer (1.3 to 2.5 ms a second), and the one "
        "batch of a hundred that is read. The proxy is idle for 96 % of the time, so timers weigh more",
    ),
    (
        ("real clients", "reading"),
        "a proxy that is 5 % busy spends 3 to 5 % of that on its timers (1.3 to 2.5 ms a second)",
    ),
    (
        ("tsproxy, 16 KB",),
        "each read costs calls into Python and a turn of the event loop. Reading the timestamps is not the "
        "reason: that takes 0.8 of about 11 µs a request",
    ),
    (("tsproxy,",), "each read costs calls into Python and a turn of the event loop"),
    (
        ("gzip, against decompressing and reading",),
        "it is compared with isal, which is written in assembly. The proxy has a decompressor of its own, in "
        "C, because no library counts blocks: 1 MB of blocks of nothing held the event loop for 0.35 s. It "
        "takes 0.95 to 1.1 times as long as isal. Tried: BMI2, which saves 5 to 10 % and which not every "
        "x86-64 has; tables of 10 and 12 bits; tables for the ends of long codes; literals joined without "
        "branches; isal behind a walk that counts blocks (2.1 to 2.5 times)",
    ),
    (
        ("against decompressing and reading",),
        "beside the codec and the walk over the records: a copy of the compressed data (1 to 2 µs), a search "
        "for matches that copy what is not there (1 µs), and the batch's facts as a Python object (1 µs). "
        "lz4 decompresses 100 KB in 20 µs, so there this is a fifth; for other codecs it is 3 to 6 %. Tried: "
        "lz4's blocks one by one (equal, or 3 µs less if blocks have checksums). Not tried: no copy, because "
        "a view of the received bytes must not be used after they are gone, and libraries keep views",
    ),
    (
        ("walk",),
        "if records differ, the walk must know a record's length before it finds the next one. And "
        "nanoseconds depend on this machine, which is shared: aiokafka's column shows how fast it was at "
        "that moment",
    ),
    (
        ("start, ",),
        "Python imports 807 modules, 353 of them tsproxy's, which is three quarters of the CPU of a start. A "
        "third of that (97 of 300 ms on a busy machine) makes 257 dataclasses. Tried: without Python's "
        "garbage collector imports take an eighth less. Entry points are imported only for a custom rule",
    ),
    (
        ("slow clients",),
        "of each client three answers are in memory: as it came, as it leaves, and in buffers of the socket",
    ),
    (
        ("rejecting",),
        "an answer has a sentence for each rejected record, so it is larger than the batch",
    ),
)


def reasons(missed: Sequence[Verdict]) -> list[str]:
    """One text for each reason, after the names of its targets."""
    by_text: dict[str, list[str]] = {}
    for each in missed:
        by_text.setdefault(_reason(each.what), []).append(each.what)
    return [f"{'; '.join(names)}: {text}." for text, names in by_text.items()]


def _reason(what: str) -> str:
    return next(
        (text for words, text in _REASONS if all(word in what for word in words)), "not looked into yet"
    )
