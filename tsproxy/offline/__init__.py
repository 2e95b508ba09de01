"""The rules of the proxy without a proxy in the path.

`scan` finds the partitions of a cluster that hold a timestamp in the future, and says what that means for
their retention. `explain` says why one timestamp is accepted or rejected.

Non-goals: nothing here changes a cluster or a file.
"""
