"""A Kafka proxy that keeps bad record timestamps out of the log.

Importing this package is light on purpose (a Spark driver does it): it imports nothing.
The packages, from the ground up: `model`, then `wire`, `policy` and `decisions`, then `session`,
`config`, `proxy` and `cli`. ARCHITECTURE.md has the drawing.
"""

__version__ = "0.1.0"
