"""The layouts of Kafka's messages: reads bytes into values of `model`, and writes values as bytes.

A file for each API whose messages are read is named by its key (`k00_produce`). `addresses` rewrites every
other answer that names brokers. `apis` is the table of the supported APIs and versions.

For any bytes, a reader returns a value or raises `DecodeError`, which is the peer's fault.

Non-goals: judging (`policy` does it), the state of a connection (`session` has it).
"""
