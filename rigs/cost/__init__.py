"""A search for the worst cost: what a peer's bytes may cost the event loop, whatever is configured.

    make cost MINUTES=30                           search, and go on where the last run ended
    python -m rigs.cost --minutes 30 --share 0.5  the same on half a core
    python -m rigs.cost --show                    what was found, measured anew
    python -m rigs.cost --store                   shrink what was found, for the repository (`worst.json`)

A session is drawn as genes (`genes`): a configuration, and what a client and a broker send. It runs through
a whole connection without sockets (`connection`): pipe, relay, fast path, session, decision log, metrics.
The search (`search`) changes and crosses the genes, and keeps the worst of each kind. A kind is what is
asked, what is configured, and one measure: the longest turn of the event loop (`at_once`), the cost of a byte
(`a_mib`), or what threads do for a byte (`beside`).

**Measures.** The search measures CPU (`time.thread_time`), since a regular expression or a copy of bytes
costs nothing in bytecodes. A measurement counts if it is still the worst after repetitions. The test
(`test_cost.py`) counts bytecodes of the stored sessions, which are the same in each run. Steps that cost time
and no bytecodes are bounded elsewhere: native code by the edges of `rigs/fuzz/native`, regular expressions
by `tests/config/test_patterns.py`. The libraries that decompress are known by inputs of few bytes and much
work (`BOMBS` in `tests/wire/blobs.py`): the search draws them, and the test compares their CPU with that of
noise in the same run.

**Bounds.** 50 ms a MiB received, and 100 ms at a time. A connection, a frame and a partition cost something,
however few their bytes, so each counts as some bytes more (`A_CONNECTION`, `A_FRAME`, `A_PARTITION`). Work in
threads has other bounds (`tests/session/test_budget.py`).
"""
