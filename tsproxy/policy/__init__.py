"""Nouns -> verdicts: pure functions of (batch, limits, now_ms), which never fail.

`timestamps` is the rule of KIP-32 and KIP-937, readable beside its pseudo-code. `judge` gives the
verdict on a `case`: innocent, or the first of the broker's checks that fails, in the broker's order
(`request_checks`, `batch_checks`, `record_checks`, `faults`). `units` guesses the mistake behind a
rejected value; `broker_reasons` tells why a broker rejected what was let pass.

Ours, and no broker's: `resolve` finds the rule for a topic and client, `own_values` rejects times that
brokers take, `candidate` counts what other limits would reject, `passing` tells the kernel what it may
let pass unseen, `explain` asks the judge about one timestamp.

Non-goals: no bytes (that is `wire`), no answers (that is `session`), nothing only a broker knows:
authorization, leadership, producer state.
"""
