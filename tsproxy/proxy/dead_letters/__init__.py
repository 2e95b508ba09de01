"""Dead letters: copies of the culprits of rejected batches, in a topic of their own.

    records   the contents of a copy; culprits are read from a batch one chunk at a time
    drops     the reasons why copies were not made, and their counts
    remembered  a file with the number that waits, for the start after a kill
    waiting   the bounded queue of rejected batches
    sender    the producer that sends copies; metrics, reload, stop

Copies never slow down the data path: no client waits for a copy, and copies that cannot be made
are counted. Non-goals: keeping copies on disk; sending records again to their original topic.
"""
