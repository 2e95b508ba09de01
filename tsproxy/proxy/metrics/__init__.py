"""Prometheus metrics of one process, and how those of several workers are joined.

Non-goals: no HTTP. `proxy.admin` serves them.
"""
