"""What somebody who means harm, or a client gone wrong, would try against the running proxy.

Each test is a defect that was found so, or a promise that held. What takes long or much memory runs
with `TSPROXY_TEST=full` only.
"""
