"""Whether this proxy's clock, by which it judges, is one to judge by.

    steps.py     the wall clock against the monotonic one: a step is noticed within a second
    probe.py     the brokers' clocks, by what a small topic of theirs says of records written to it
    stamps.py    the same by times that brokers write anyway; `listening.py` asks for them, writing nothing
    kernel.py    whether anything keeps this machine's clock right
    crowd.py     whether nearly all clients are off by the same amount
    doubts.py    which of these speak against the clock now, told once for each change
    room.py      what follows: metrics, warnings, lines of the decision log, and, if it is wanted so, that
                 nothing is enforced until the clock is right again

Non-goals: setting any clock; judging by the brokers' time instead of our own.
"""
