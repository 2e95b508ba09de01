"""The proxy's connections on a simulated event loop, clock and network: every fault at every point, by seed.

    python -m rigs.simulated --connections 100000 --seed 1    many worlds, each with a few connections
    python -m rigs.simulated --adversaries 8                  the same, each with so many hostile clients
    python -m rigs.simulated --replay 4711                    one world again, event by event
    python -m rigs.simulated --shrink 4711                    the fewest events that still break it

One seed is one world. It decides everything: what clients ask, what the broker answers, how bytes are cut,
how long everything takes, and which faults and changes happen between any two events.

    draws        numbers and events by seed; events can be left out, which is how a world shrinks
    loop         an event loop with virtual time
    link         asyncio transports without a network: `Link`
    wires        the bytes between a link and its peer
    network      makes links, and sees what the proxy writes
    requests     what clients ask
    client       one simulated client
    adversary    a hostile one, which tries all that the table of authority leaves to clients
    broker       one simulated broker connection
    history      what was sent, forwarded, stored, answered and booked on one connection
    invariants   what must hold of it, whatever happened
    coincidences two events that hardly ever meet by themselves
    judges       the threads that judge and read, without threads
    world        the real listener, relays, sessions and limits in front of these peers
    changes      reloads, views, certificates, clock steps and the drain, between any two events
    mistakes     mistakes of the product, to be planted in a test
    shrink       leaves out events while the world still breaks the same invariant

The product runs unchanged: `ProxyListener` and everything below it. A plain connection has a real socket
pair, because the pipe writes to the socket's number itself; the bytes of a connection over TLS only pass
through Python. Non-goals: OpenSSL, the kernel's TCP, threads, the decision log's files and real brokers.
`tests/e2e` and `tests/proxy` have those.
"""
