"""The nouns, in Kafka's words: frozen values that every other room speaks in.

Standard library only, no I/O, no clock. `kafka` holds the protocol's own constants, `records`
what a record batch says, `produce` the Produce messages, `verdict` what a rule may answer,
`outcome` what became of one batch, `view` what a session knows of its surroundings.

Non-goals: no parsing (that is `wire`), no judging (that is `policy`).
"""
