"""All metrics of the admin port. Each is one row in the module of its section.

`sections` collects the rows, in the order of metrics.md. Code makes metrics from these rows only, and
tests compare them with the page and with a running proxy.
"""
