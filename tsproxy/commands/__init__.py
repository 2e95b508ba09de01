"""The commands of `tsproxy`, one module each.

A module has `HELP`, `EXAMPLES`, and `add`, which gives a parser its arguments. `cli.COMMANDS` lists them.

A command's own imports stand inside its functions: `--help` needs neither a loop nor a Kafka client.

Non-goals: no logic. `proxy` runs, `offline` asks and judges, `config` checks.
"""
