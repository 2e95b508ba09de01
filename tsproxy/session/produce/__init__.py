"""One ProduceRequest, from the decoded request to the client's answer.

1. `cost` estimates what judging it costs, and whether that is too much for the event loop. `job` is a request
   that is judged in a thread; `budget` bounds what the event loop decompresses itself.
2. `context` reads each partition's records as far as a verdict needs them (`bare_messages`: old formats).
3. `judge_partitions` judges each partition. `rewrite` writes the batches that a rule repairs.
4. `verdict` is what was found. `judge_request` makes a `Judgement` of it, which says all that is done: the
   frame to forward, the answer (`answer`), the facts that the decision log records (`outcomes`).
5. `flow` leads the request through all of it. Its slot keeps what the broker's answer needs (`BookProduce`).
"""
