# What every target needs: `Target` as in driver.c, numbers from the front of an input, buffers without slack.

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

ctypedef int (*Check)(const uint8_t* data, size_t size) except -1

cdef struct Target:
    Check check
    uint64_t edges, edges_a_byte
    uint64_t memory, memory_a_byte
    uint64_t kept

cdef struct Script:      # an input that is read from its front; zeros and nothing behind its end
    const uint8_t* at
    const uint8_t* end


cdef inline object capsule(Target* target):
    return PyCapsule_New(target, NULL, NULL)


cdef inline Py_ssize_t left(Script* script) noexcept nogil:
    return script.end - script.at


cdef inline uint64_t number(Script* script, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int at
    for at in range(size):
        value <<= 8
        if script.at < script.end:
            value |= script.at[0]
            script.at += 1
    return value


cdef inline Script piece(Script* script) noexcept nogil:
    """The bytes behind a size of two bytes."""
    cdef Py_ssize_t size = <Py_ssize_t>number(script, 2)
    cdef Script taken = script[0]
    if size > left(script):
        size = left(script)
    taken.end = script.at + size
    script.at += size
    return taken


cdef inline uint8_t* exact(const uint8_t* data, Py_ssize_t size) except NULL:
    """A copy that ends where its memory ends; `PyMem_Free` frees it."""
    cdef uint8_t* copy = <uint8_t*>PyMem_Malloc(size if size else 1)
    if copy == NULL:
        raise MemoryError
    memcpy(copy, data, size)
    return copy


cdef inline int require(bint holds, str what) except -1:
    if not holds:
        raise AssertionError(what)
    return 0
