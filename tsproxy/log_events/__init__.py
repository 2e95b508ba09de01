"""The events of the operators' log, as one catalogue.

    event       `LogEvent`: name, level, fields, meaning, what to do. Code calls it to write a line
    catalogue   one row for each event
    sections    all rows, by section and by name
    reference   the tables of docs/guide/troubleshooting.md

Not here: how lines are written (`proxy.logging`), and how often a client may cause one (`proxy.notes`).
"""
