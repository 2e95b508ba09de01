"""The running proxy: one process, or several that share the ports. It performs the effects of sessions.

Modules that hold the process together:

    server          connects all parts of one process: start, reload, drain, stop
    process         runs the proxy as the only process; `workers` runs several
    startup         opens the decision log, and refuses to start without it
    reloadable      how the parts adopt new settings
    loop            chooses the event loop: uvloop or asyncio
    ports           listening sockets; `outgoing_ports` reads the system's range for outgoing connections
    passed_sockets  listening sockets that a service manager keeps open
    logging         the operators' log; `notes` bounds lines about clients, `trouble` lines about outages
    service_manager reports the state to systemd (sd_notify)
    daemon_threads  threads that do not delay the exit
    wait            waits for an event, with a time limit

Packages:

    connections   clients' connections: handshake, one session between two sockets, judging in threads
    pipe          reads and writes the bytes of connections, natively or in Python
    brokers       the brokers of the cluster, their limits, and connections to query them
    limits        bounds for all clients together: connections, idle time, memory, open files
    clock_check   checks the clock that timestamps are judged by
    decision_log  writes the decision log to files, and sends it to a topic
    dead_letters  sends copies of culprits to a topic
    metrics       Prometheus metrics of one process, and the sum over several
    admin         the admin port: metrics, health, configuration, a page for people
    reload        new configuration, new certificates, the end of waivers, while the proxy runs
    workers       a supervisor and its workers

Non-goals: no rule and no wire format. `policy` and `session` judge, `wire` reads and writes Kafka's frames,
`cluster` queries brokers, `tls` makes contexts.
"""
