"""Prometheus metrics of one process, and the sum of several workers' metrics.

Non-goals: no HTTP. `proxy.admin` serves them.
"""
