"""The sans-IO machine of one client connection and its broker connection.

`Session` turns (bytes, now_ms) into a list of effects and is the one definition of what the proxy
does on the wire. It reads no clock, opens no socket, logs nothing.

Public face (all return `list[Effect]`):

    session = Session(peer, view)
    session.client_bytes(data, now_ms)     bytes came from the client
    session.broker_bytes(data, now_ms)     bytes came from the broker
    session.judged(ruling, now_ms)         the job of a `Judge` effect is done
    session.answer_read(read, now_ms)      the job of a `ReadAnswer` effect is done
    session.client_closed()                the client's side ended (EOF or error)
    session.broker_closed()                the broker's side ended
    session.see(view, now_ms)              limits, brokers or mode changed
    session.node_given_up()                an answer has waited long enough for a node (`HoldBroker`)

Besides, `session.drain_totals()` returns the batches that the fast path has counted since the last call, and
`session.fast_path` says which bytes the caller may forward without the session.
"""
