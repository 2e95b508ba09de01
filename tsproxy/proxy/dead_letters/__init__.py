"""Dead letters: of batches that were rejected, copies of the records at fault, in a topic of their own.

    letters.py   what a copy is made of; taken out of a batch a chunk at a time
    losses.py    why a copy was not made, and how many were not
    waiting.py   rejected batches that wait to be copied: bounded
    room.py      the way there and back: a producer of the proxy's own, metrics, reload, the end

Made beside the data path, and never at its cost: no client waits for a copy, and what cannot be copied
is counted. Non-goals: keeping copies on disk; sending anything again to where it was rejected from.
"""
