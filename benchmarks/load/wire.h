/* Shared by generator.c and sink.c: Kafka's primitive types, growing buffers, one clock.
 *
 * Source: the protocol guide. Numbers are big-endian; lengths are int16 or int32, or from a flexible
 * version on an unsigned varint of length + 1. Bytes that it cannot read end the program.
 */
#ifndef WIRE_H
#define WIRE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRODUCE = 0, FETCH = 1, METADATA = 3, API_VERSIONS = 18, DESCRIBE_CONFIGS = 32 };
enum { SIZE_BYTES = 4, CORRELATION_ID_AT = 8, SMALLEST_REQUEST = 14, LARGEST_FRAME = 256 << 20 };

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* True from the version on in which a request's header and body have tagged fields. */
static inline bool is_flexible(int api_key, int version)
{
    switch (api_key) {
    case PRODUCE:
        return version >= 9;
    case FETCH:
        return version >= 12;
    case METADATA:
        return version >= 9;
    case API_VERSIONS:
        return version >= 3;
    default:
        return false; /* the sink advertises no flexible version of anything else */
    }
}

/* Reading. */

struct cursor {
    const uint8_t *at, *end;
};

static inline const uint8_t *take_bytes(struct cursor *c, size_t size)
{
    if (size > (size_t)(c->end - c->at))
        die("a message ends %zu bytes early", size - (size_t)(c->end - c->at));
    const uint8_t *start = c->at;
    c->at += size;
    return start;
}

static inline int64_t take(struct cursor *c, int size)
{
    const uint8_t *bytes = take_bytes(c, (size_t)size);
    uint64_t value = bytes[0] & 0x80 ? ~0ULL : 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

static inline uint32_t take_varint(struct cursor *c)
{
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        uint8_t byte = *take_bytes(c, 1);
        value |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    die("a varint of more than 5 bytes");
}

/* The length of a string (width 2), or of bytes or an array (width 4); -1 for null. */
static inline int64_t take_length(struct cursor *c, bool flexible, int width)
{
    return flexible ? (int64_t)take_varint(c) - 1 : take(c, width);
}

struct string {
    const uint8_t *bytes;
    int64_t size; /* -1 for null */
};

static inline struct string take_string(struct cursor *c, bool flexible, int width)
{
    int64_t size = take_length(c, flexible, width);
    return (struct string){take_bytes(c, size > 0 ? (size_t)size : 0), size};
}

static inline void skip_tags(struct cursor *c, bool flexible)
{
    if (!flexible)
        return;
    for (uint32_t left = take_varint(c); left > 0; left--) {
        take_varint(c);
        take_bytes(c, take_varint(c));
    }
}

/* Writing, and collecting what was received: bytes[start, end) of a buffer that grows. */

struct buffer {
    uint8_t *bytes;
    size_t start, end, capacity;
};

/* Makes space for `size` more bytes at the end; moves the contents to the front first. */
static inline uint8_t *reserve(struct buffer *b, size_t size)
{
    if (b->capacity - b->end < size && b->start > 0) {
        memmove(b->bytes, b->bytes + b->start, b->end - b->start);
        b->end -= b->start;
        b->start = 0;
    }
    if (b->capacity - b->end < size) {
        while (b->capacity - b->end < size)
            b->capacity = b->capacity ? 2 * b->capacity : 4096;
        b->bytes = realloc(b->bytes, b->capacity);
        if (b->bytes == NULL)
            die("no memory for a buffer of %zu bytes", b->capacity);
    }
    return b->bytes + b->end;
}

static inline void drop(struct buffer *b, size_t size)
{
    b->start += size;
    if (b->start == b->end)
        b->start = b->end = 0;
}

static inline void put_bytes(struct buffer *b, const void *bytes, size_t size)
{
    memcpy(reserve(b, size), bytes, size);
    b->end += size;
}

static inline void store(uint8_t *to, int64_t value, int size)
{
    for (int i = size - 1; i >= 0; i--, value >>= 8)
        to[i] = (uint8_t)value;
}

static inline void put(struct buffer *b, int64_t value, int size)
{
    store(reserve(b, (size_t)size), value, size);
    b->end += (size_t)size;
}

static inline void put_varint(struct buffer *b, uint32_t value)
{
    for (; value > 0x7F; value >>= 7)
        put(b, (value & 0x7F) | 0x80, 1);
    put(b, value, 1);
}

static inline void put_length(struct buffer *b, int64_t length, bool flexible, int width)
{
    if (flexible)
        put_varint(b, (uint32_t)(length + 1));
    else
        put(b, length, width);
}

static inline void put_string(struct buffer *b, struct string s, bool flexible)
{
    put_length(b, s.size, flexible, 2);
    put_bytes(b, s.bytes, s.size > 0 ? (size_t)s.size : 0);
}

static inline struct string string_of(const char *text)
{
    return (struct string){(const uint8_t *)text, (int64_t)strlen(text)};
}

static inline void put_text(struct buffer *b, const char *text)
{
    put_string(b, string_of(text), false);
}

static inline void put_tags(struct buffer *b, bool flexible)
{
    if (flexible)
        put(b, 0, 1);
}

/* The size of the whole frame that begins at `b->start`, its prefix included; 0 while that is unknown. */
static inline size_t frame_size(const struct buffer *b)
{
    if (b->end - b->start < SIZE_BYTES)
        return 0;
    struct cursor c = {b->bytes + b->start, b->bytes + b->end};
    int64_t size = take(&c, SIZE_BYTES);
    if (size < 4 || size > LARGEST_FRAME)
        die("a frame of %lld bytes", (long long)size);
    return SIZE_BYTES + (size_t)size;
}

#endif
