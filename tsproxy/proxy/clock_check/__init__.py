"""Checks this proxy's clock, because timestamps are judged by it: `monitor`.

A step shows within a second (`steps`). The offset to the brokers is measured by records of our own (`probe`),
or estimated by timestamps that brokers write anyway (`stamps`). A measured offset suspends enforcement, and
so do a step and an estimate that agree (`offsets`).

Non-goals: setting a clock; judging by the brokers' time instead of our own; learning anything about the clock
from clients, which may send any timestamps.
"""
