# The key that names a topic in a Produce request and its answer: the topic's name, or from version 13 on its
# id (KIP-516).

from libc.stdint cimport int16_t, int64_t, uint8_t

from tsproxy.wire.readers._native.cursor cimport Cursor, read_string_size
from tsproxy.wire.readers._native.put cimport put_raw, put_string

cdef enum:
    TOPIC_ID_BYTES = 16

cdef int16_t FLEXIBLE_FROM
cdef int16_t TOPIC_IDS_FROM


cdef inline int64_t read_key_size(Cursor* cursor, int16_t version) noexcept nogil:
    return TOPIC_ID_BYTES if version >= TOPIC_IDS_FROM else read_string_size(cursor, version >= FLEXIBLE_FROM)


cdef inline uint8_t* put_key(uint8_t* at, const uint8_t* key, Py_ssize_t size, int16_t version) noexcept nogil:
    if version >= TOPIC_IDS_FROM:
        return put_raw(at, key, size)
    return put_string(at, key, size, version >= FLEXIBLE_FROM)
