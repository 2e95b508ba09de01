"""The asyncio shell: performs what a session wants done, and knows everything a session must not.

`server` wires one process and owns its signals; `workers` has several of them behind the same ports.
The path of a connection: `listeners` (a port for bootstrapping, one for each broker) accepts,
`upstream` connects to the broker, `relay` holds the two ends and the session between them, `flow`
keeps their memory bounded. What a session is told comes from `cluster` (the proxy's own connection:
brokers, limits of topics). What it tells goes to `decision_log`, `metrics` and `notes`. `clock` is
the one reader of clocks, `tls` makes contexts from PEM files, `admin` answers scrapers, probes and
people, `logging` sets the operators' log up.

Non-goals: no rule, no wire format, no decision is made here; nothing here reads a Kafka frame.
"""
