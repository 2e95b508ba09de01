"""The layouts of Kafka's messages: reads bytes into values of `model`, and writes values as bytes.

    primitives                    reads and writes single fields
    frames, answers               cut the streams of clients and brokers
    apis                          the table of the supported APIs and versions
    headers                       the request header and the response header
    k00_produce and others        one file for each API whose messages are read, named by its key
    addresses                     rewrites every other answer that names brokers
    record_set, record_batch,
    records, message_set, codecs  read records

For any bytes, a reader returns a value or raises `DecodeError`, which is the peer's fault.

Non-goals: judging (`policy` does it), the state of a connection (`session` has it).
"""
