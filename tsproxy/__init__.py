"""A Kafka proxy that keeps bad record timestamps out of the log.

This package imports nothing on purpose, because a Spark driver imports it.
The packages, from the ground up: `model`, then `wire`, `policy` and `decisions`, then `session`,
`config`, `proxy` and `cli`. ARCHITECTURE.md has the drawing.
"""

__version__ = "0.1.0"
