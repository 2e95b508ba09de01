"""Examines everything that `tsproxy run` would need, and says in plain words what to do.

    findings      one line of the result: its grade, the text, the advice
    configuration notices about the configuration by itself
    examination   calls the checks in their order
    cluster       reaches the cluster as the proxy would, and asks each broker
    security      TLS, SASL and certificates
    permissions   the rights of the proxy's own user
    commands      Kafka's own tools, as findings name them
    topics        limits of topics that users may not expect
    clocks        this machine's clock beside the brokers'
    ports         the ports and names under which clients reach the proxy
    machine       file descriptors, memory, the folder of the decision log

It uses the proxy's own parts: its connection, its limits, its ports. It changes nothing on the cluster and
writes no file.

Non-goals: repairing anything; checks of a running proxy, which `/readyz?verbose` has.
"""
