"""The running proxy: one process, or several that share the ports. It performs the effects of sessions.

`server` connects all parts of one process. `process` runs it as the only one, `workers` runs several.
`pyproject.toml` has the order of the packages: each knows those below it.

Non-goals: no rule and no wire format. `policy` and `session` judge, `wire` reads and writes Kafka's frames,
`cluster` queries brokers, `tls` makes contexts.
"""
