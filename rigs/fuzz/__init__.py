"""Coverage-guided fuzzing: bytes of strangers, of clients and of brokers, until something breaks.

    make fuzz MINUTES=10                       every target for that long
    python -m rigs.fuzz session --minutes 60  one target
    python -m rigs.fuzz session FILE          what one input does
    python -m rigs.fuzz --store               what the runs found, minimised, into the repository

There are two kinds of target. The targets in Python (`targets`) run under atheris and see all of the product.
The targets in C (`native`) run under libFuzzer, AddressSanitizer and UBSan, and see the native code; they
need clang.

A target takes bytes and fails if its invariant does not hold. The first line of each docstring is the
invariant. Seeds are what the other tests draw, and what earlier runs found (`corpora`). An input that breaks
something becomes a test: its bytes go into `found/TARGET/`, under a name that says what was wrong.
"""
