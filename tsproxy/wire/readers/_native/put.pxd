# Writers of Kafka's primitive types. Each returns the place for the next value. The caller provides the
# memory.
# The types are those of `wire/primitives.py`.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint8_t* put_int16(uint8_t* at, int value) noexcept nogil:
    at[0] = <uint8_t>(<uint32_t>value >> 8)
    at[1] = <uint8_t>value
    return at + 2


cdef inline uint8_t* put_int32(uint8_t* at, int value) noexcept nogil:
    cdef uint32_t raw = <uint32_t>value
    at[0] = <uint8_t>(raw >> 24)
    at[1] = <uint8_t>(raw >> 16)
    at[2] = <uint8_t>(raw >> 8)
    at[3] = <uint8_t>raw
    return at + 4


cdef inline uint8_t* put_int64(uint8_t* at, int64_t value) noexcept nogil:
    return put_int32(put_int32(at, <int>(<uint64_t>value >> 32)), <int>(<uint64_t>value))


cdef inline uint8_t* put_uvarint(uint8_t* at, uint32_t value) noexcept nogil:
    while value >= 0x80:
        at[0] = <uint8_t>(value | 0x80)
        value >>= 7
        at += 1
    at[0] = <uint8_t>value
    return at + 1


cdef inline uint8_t* put_raw(uint8_t* at, const uint8_t* data, Py_ssize_t size) noexcept nogil:
    memcpy(at, data, size)
    return at + size


cdef inline uint8_t* put_size(uint8_t* at, Py_ssize_t size, bint is_flexible) noexcept nogil:
    """Write the size of an array that is not null."""
    return put_uvarint(at, <uint32_t>(size + 1)) if is_flexible else put_int32(at, <int>size)


cdef inline uint8_t* put_string(
    uint8_t* at, const uint8_t* text, Py_ssize_t size, bint is_flexible
) noexcept nogil:
    at = put_uvarint(at, <uint32_t>(size + 1)) if is_flexible else put_int16(at, <int>size)
    return put_raw(at, text, size)


cdef inline uint8_t* put_no_tags(uint8_t* at, bint is_flexible) noexcept nogil:
    if is_flexible:
        at[0] = 0
        return at + 1
    return at


cdef extern from *:
    """
    static const char two_digits[] =
        "00010203040506070809101112131415161718192021222324"
        "25262728293031323334353637383940414243444546474849"
        "50515253545556575859606162636465666768697071727374"
        "75767778798081828384858687888990919293949596979899";
    """
    const char* two_digits


cdef inline uint8_t* put_decimal(uint8_t* at, int64_t value) noexcept nogil:
    """Write a number in decimal, in at most 20 characters."""
    cdef uint64_t raw = 0 - <uint64_t>value if value < 0 else <uint64_t>value
    cdef uint8_t[20] digits
    cdef int first = 20
    while raw >= 100:
        first -= 2
        memcpy(&digits[first], two_digits + 2 * (raw % 100), 2)
        raw //= 100
    if raw >= 10:
        first -= 2
        memcpy(&digits[first], two_digits + 2 * raw, 2)
    else:
        first -= 1
        digits[first] = <uint8_t>(48 + raw)
    if value < 0:
        at[0] = 45  # a minus sign
        at += 1
    return put_raw(at, &digits[first], 20 - first)
