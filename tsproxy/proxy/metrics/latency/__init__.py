"""Measures how long requests take: inside the proxy, and from there to the broker's whole answer.

Only a sample of requests is timed. A connection that times no request does no work for this and reads no
clock. The choice of a request depends neither on its contents nor on the fast path.

Non-goals: no trace of a single request, and no measurement of how long bytes wait in the system's buffers.
"""
