"""Attacks of a hostile client, and mistakes of a broken one, against the running proxy.

Each test is a defect that was found so, or a promise that held. Tests that take long or need much memory run
with `TSPROXY_TEST=full` only.
"""
