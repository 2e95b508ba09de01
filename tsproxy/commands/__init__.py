"""The commands of `tsproxy`, one module each.

Each module has `HELP`, `EXAMPLES` and `add`, which adds the arguments to a parser. `cli.GROUPS` lists the
modules.

Each command imports its own modules inside its functions, since `--help` needs neither a loop nor a Kafka
client.

Non-goals: no logic. `proxy` runs, `offline` queries and judges, `config` checks.
"""
