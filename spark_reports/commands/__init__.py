"""One module a command: `add` declares it on the parser, the rest runs it. `cli` lists them.

`running` is what those that need Spark share, `failures` says what Spark gave up at. A command's module
imports pyspark inside functions only: `--help`, `render` and the like must start without it.
"""
