"""The sans-IO machine of one client connection and its broker connection.

`Session` turns (bytes, now_ms) into a list of effects and is the one definition of what the proxy
does on the wire. It reads no clock, opens no socket, logs nothing.

Public face:

    session = Session(peer, view)
    session.feed(event, now_ms, monotonic_ms)     handle an event (`events`), return effects (`effects`)
    session.next_deadline_ms                      when `DeadlinePassed` is due (`deadlines`)
    session.fast_path                             what the caller may forward or answer itself
    session.drain_totals()                        the batches that the fast path has counted
    session.owes_totals                           True if these are due before the effects are performed
"""
