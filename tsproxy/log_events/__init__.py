"""The events of the operators' log, as one catalogue: each is a row, which code calls to write a line.

Not here: how lines are written (`proxy.logging`), and how often a client may cause one (`proxy.notes`).
"""
