"""Coverage-guided fuzzing: bytes of strangers, of clients and of brokers, until something breaks.

    make fuzz MINUTES=10                       every target for that long (atheris, libFuzzer)
    python -m tests.fuzz session --minutes 60  one target
    python -m tests.fuzz session FILE          what one input does

A target (`targets`) takes bytes and raises if its invariant does not hold. The first line of each docstring
is the invariant. Seeds are what the other tests draw. An input that breaks something becomes a test: its
bytes go into `found/TARGET/`, under a name that says what was wrong.
"""
