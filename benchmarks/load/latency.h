/* Latencies in buckets of 1/32 of a power of two: a value and its bucket's end differ by 3% at most. */
#ifndef LATENCY_H
#define LATENCY_H

#include <stdint.h>

enum { STEP_BITS = 5, STEPS = 1 << STEP_BITS, BUCKETS = 64 * STEPS };

struct latencies {
    int64_t buckets[BUCKETS], count, highest_ns;
};

static inline void book(struct latencies *all, int64_t ns)
{
    uint64_t value = ns > STEPS ? (uint64_t)ns : STEPS;
    int shift = 63 - __builtin_clzll(value) - STEP_BITS;
    all->buckets[(shift << STEP_BITS) + (int)(value >> shift)]++; /* the last term lies in [STEPS, 2 * STEPS) */
    all->count++;
    if (ns > all->highest_ns)
        all->highest_ns = ns;
}

/* The latency in microseconds that `share` of all latencies do not exceed. */
static inline double quantile_us(const struct latencies *all, double share)
{
    int64_t left = (int64_t)(share * (double)all->count);
    for (int i = STEPS; i < BUCKETS; i++)
        if ((left -= all->buckets[i]) < 0) {
            int shift = i / STEPS - 1;
            uint64_t end_ns = (uint64_t)(i - (shift << STEP_BITS) + 1) << shift;
            return (double)(end_ns < (uint64_t)all->highest_ns ? end_ns : (uint64_t)all->highest_ns) / 1e3;
        }
    return (double)all->highest_ns / 1e3;
}

#endif
