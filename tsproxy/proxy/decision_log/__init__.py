"""Stores the lines of the decision log, without blocking the event loop.

Non-goals: no encryption at rest, no compression (a shipper or `spark_reports daily` does that).
"""
