"""Judges one ProduceRequest, from the decoded request to all that is done about it.

1. `cost` estimates what judging it costs, and whether that is too much for the event loop.
2. `context` reads each partition's records as far as a verdict needs them (`bare_messages`: old formats).
3. `judge_partitions` judges each partition. `rewrite` writes the batches that a rule repairs.
4. `judge_request` makes a `Judgement` of the verdicts, which says all that is done.
5. `flow` leads the request through all of it. Its slot keeps what the broker's answer needs (`BookProduce`).

Modules of `session` itself describe a request for all others: `verdict`, `outcomes` (the facts that the
decision log records), `produce_answer`, `job` (a request that is judged in a thread), `budget` (the bytes
that the event loop decompresses itself), and `topic_names`.
"""
