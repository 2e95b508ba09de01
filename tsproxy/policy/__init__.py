"""Verdicts: pure functions of (batch, limits, now_ms), which never fail.

`timestamps` is the rule of KIP-32 and KIP-937, in the form of its pseudo-code. `judge` gives the verdict on a
batch and its `context`: it accepts a batch that is certainly acceptable. Otherwise the first check that fails
rejects the batch. `checks` has the checks, in a broker's order. `units` guesses the unit of a rejected value.
`broker_reasons` explains why a broker rejected a batch that the proxy forwarded.

Beyond a broker's rules: `resolve` finds the rule for a topic and client, `special_timestamps` rejects
timestamps that brokers accept, `custom_rules` calls an operator's code, `judge_candidate` finds what other
limits would reject, `repair` corrects timestamps, `fast_path` says what native code may do without the
session. `explain` judges one timestamp.

Non-goals: no bytes (`wire` reads them), no answers (`session` makes them), no facts that only a broker knows
(authorization, leadership, producer state).
"""
