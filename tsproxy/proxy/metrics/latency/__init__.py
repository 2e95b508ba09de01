"""How long requests take: inside the proxy, and from there to the broker's whole answer.

    timings    the histograms, by API
    stopwatch  times one request of one connection, from both ends' reads
    sampler    decides which connection times its next request

Requests are sampled: a connection that times nothing does nothing for it, not even read a clock. Which
request is timed does not depend on what it is, nor on whether the kernel lets it pass.

Non-goals: no trace of a single request, no time that bytes wait in the system's buffers before they are read.
"""
