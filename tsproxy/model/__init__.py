"""The values that all other packages exchange: frozen, and named in Kafka's words.

The package needs only the standard library, and has no I/O and no clock.

    kafka      constants of the protocol
    records    the contents of a record batch
    produce    the Produce messages
    verdict    the possible verdicts on a batch
    outcome    the outcome of one batch
    view       everything that a session knows about the cluster and the configuration

Non-goals: parsing (`wire` does it), judging (`policy` does it).
"""
