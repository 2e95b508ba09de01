"""Dead letters: copies of the culprits of rejected batches, in a topic of their own.

Copies never slow down the data path: no client waits for a copy, and copies that cannot be made
are counted. Non-goals: keeping copies on disk; sending records again to their original topic.
"""
