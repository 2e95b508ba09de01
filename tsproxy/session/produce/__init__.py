"""One ProduceRequest, from the decoded request to the client's answer.

1. `cost` estimates what judging it costs, and whether that is too much for the event loop. `job` is a request
   that is judged in a thread; `budget` bounds what the event loop decompresses itself.
2. `context` reads each partition's records as far as a verdict needs them (`bare_messages`: old formats).
3. `verdicts` has the verdict on each partition. `rewrite` writes the batches that a rule repairs.
4. `judge_request` puts the verdicts together: the frame to forward, and what is rejected.
5. `answer` makes the client's answer, `outcomes` the facts that the decision log records.
"""
