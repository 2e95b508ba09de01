"""Examines what `tsproxy run` would need, and says in plain words what to do.

It uses the proxy's own parts: its connection, its limits, its ports. It changes nothing on the cluster and
writes no file. A module has the checks of one subject, and `examination` calls them in their order.

Non-goals: repairing anything; checks of a running proxy, which `/readyz?verbose` has.
"""
