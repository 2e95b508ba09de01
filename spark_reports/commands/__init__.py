"""One module for each command: `add` adds the command to the parser, the rest runs it. `cli` lists the
modules.

Commands that need Spark share `spark_run`. Modules import pyspark inside functions only, because `--help` and
the other commands must work without it.
"""
