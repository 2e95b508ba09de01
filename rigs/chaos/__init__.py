"""Chaos: real brokers, real proxies and real producers, and faults that come at random.

    __main__   `python -m rigs.chaos --rounds N --seed S`, a line for each round and a sum at the end
    world      three brokers, two proxies, the relays on both sides of them (`tests.kit.relay`)
    proxy      one proxy as a service manager runs it
    balancer   haproxy in front, as the guide has it
    faults     the table of faults: how each begins and how it ends
    producers  the clients, and the callbacks that each of them received
    attackers  hostile clients beside them
    totals     watches the metrics' totals, which must not fall
    stored     the records in the brokers' log, with the producer that wrote each batch
    verdict    compares producers, log and decision log: the counts that must be zero
    rounds     one round: traffic, faults, recovery, verdict
    soak       the same clients for an hour
    samples    memory, descriptors and tasks of the proxies, which must not grow

Non-goals: these are no load tests, and nothing here checks how fast something is.
"""
