"""Several processes on the same ports: a supervisor and its workers.

A worker shares only its ports with the others (SO_REUSEPORT: the kernel distributes connections over
the processes that listen). A broker's port is a function of its node id, so all agree without communication.

Non-goals: no balancing beyond the kernel's (by hash, not by load), and no state that passes from one process
of a worker to the next.
"""
