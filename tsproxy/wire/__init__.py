"""Bytes <-> nouns: everything that knows how Kafka lays a message out.

`primitives` reads and writes single fields, `frames` cuts streams, `apis` is the table of what is
understood, `headers` the two headers; one file per API that is looked into, named by its key
(`k00_produce`, `k18_api_versions`); `addresses` rewrites every other answer that names brokers;
`record_set`, `record_batch` and `codecs` read records.

Whatever comes, a reader returns a noun or raises `DecodeError`, which is the peer's fault.

Non-goals: no judgement (that is `policy`), no state of a conversation (that is `session`).
"""
