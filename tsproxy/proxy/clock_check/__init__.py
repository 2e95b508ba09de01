"""Checks this proxy's clock, because timestamps are judged by it.

    steps         compares the wall clock with the monotonic one: it finds a step within a second
    probe         the brokers' clocks, by records written to a small topic with LogAppendTime
    stamps        the same by timestamps that brokers write anyway; `listening` queries brokers for them
    offsets       the conclusions from the offsets to all brokers; only measured ones suspend enforcement
    system_clock  whether anything synchronizes this machine's clock
    doubts        which of these raise a doubt about the clock; logs each change once
    monitor       the consequences: metrics, warnings, lines of the decision log, and, if configured,
                  suspended enforcement until the clock is right again

Non-goals: setting a clock; judging by the brokers' time instead of our own; learning anything about the clock
from clients, which may send any timestamps.
"""
