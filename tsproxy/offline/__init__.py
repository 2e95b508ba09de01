"""The same judge without a proxy in the path: what is in a cluster, what a policy would have said.

`scan` asks a cluster which partitions hold a timestamp in the future, and what that means for their
retention. `explain` says why one timestamp is accepted or rejected. `replay` judges traffic that is over.

Non-goals: nothing here changes anything, in a cluster or in a file.
"""
