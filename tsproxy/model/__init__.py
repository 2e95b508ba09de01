"""The values that all other packages exchange: frozen, and named in Kafka's words.

The package needs only the standard library, and has no I/O and no clock.

Non-goals: parsing (`wire` does it), judging (`policy` does it).
"""
