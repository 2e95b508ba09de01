"""Verdicts: pure functions of (batch, limits, now_ms), which never fail.

`timestamps` is the rule of KIP-32 and KIP-937, readable beside its pseudo-code. `judge` gives the verdict
on a batch and its `context`: it is certainly acceptable, or the first check that fails rejects it. `checks`
holds the checks, in a broker's order. `units` guesses the mistake behind a rejected value; `broker_reasons`
explains why a broker rejected a batch that the proxy forwarded.

Beyond a broker's rules: `resolve` finds the rule for a topic and client, `special_timestamps` rejects
timestamps that brokers accept, `custom_rules` calls an operator's code, `candidate` counts what other limits
would reject, `repair` corrects timestamps, `fast_path` says what native code may do without the session.
`explain` asks the judge about one timestamp.

Non-goals: no bytes (that is `wire`), no answers (that is `session`), nothing only a broker knows:
authorization, leadership, producer state.
"""
