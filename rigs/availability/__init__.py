"""Clients of every family while a proxy of their cluster stops, dies, or is lost with its zone.

    cast     the clients that play, and the record of what one of them met
    forms    the ways in which clients reach several proxies: addresses, a name, a virtual address, haproxy
    faults   what happens to a proxy
    play     one form and one fault with all clients at once
    network  a network of the rig's own, in which addresses can be moved and packets dropped
    __main__ plays docs/guide/high-availability.md, and prints a table of waits for each form

`python -m rigs.availability` needs no rights: it makes a network of its own. The proxies and the front have
loopback addresses. The test beside it plays what needs no such network.
"""
