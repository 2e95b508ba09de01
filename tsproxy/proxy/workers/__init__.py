"""Several processes behind the same ports: a supervisor and its workers.

    supervisor   starts the workers, restarts those that end, tells them to stop; the admin port
    member       one worker as the supervisor sees it: its lives, what it told, when to start it again
    watch        when a worker that does not answer hangs
    worker       the process at the other end: a whole proxy that takes its orders from the channel
    channel      what the two say to each other, over a socket pair that ends with either of them
    addresses    the ports, chosen once and the same for all
    totals       the workers' metrics as one

A worker shares nothing but its ports with the others (SO_REUSEPORT: the kernel spreads connections over
the processes that listen). A broker's port is a function of its node id, so all agree without talking.

Non-goals: no balancing beyond the kernel's (by hash, not by load), no state handed from one life of a
worker to the next.
"""
