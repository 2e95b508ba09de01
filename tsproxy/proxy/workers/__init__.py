"""Several processes on the same ports: a supervisor and its workers.

    supervisor   starts the workers, restarts those that end, stops them; has the admin port
    member       one worker from the supervisor's side: its processes, its reports, its restarts
    watch        decides when a worker that does not answer hangs
    core_waits   how long a process has waited for a core
    worker       the process on the other end: a whole proxy that executes the supervisor's orders
    channel      messages between the two, over a socket pair that closes when either of them ends
    addresses    the ports, chosen once and the same for all

A worker shares only its ports with the others (SO_REUSEPORT: the kernel distributes connections over
the processes that listen). A broker's port is a function of its node id, so all agree without communication.

Non-goals: no balancing beyond the kernel's (by hash, not by load), and no state that passes from one process
of a worker to the next.
"""
