"""The kit of all tests: what stands before and behind a proxy, and what an administrator does to it.

`admin` changes rights and passwords of users, `topics` reads what brokers hold, and `client` is a connection
that speaks frame by frame, with the logins of each mechanism. `broker` is a server that answers by a script,
`relay` disturbs connections, `clocks` are moved by a test, and `tasks` run beside it. `commands` runs a
program to its end, and keeps what it makes for the next run.
"""
