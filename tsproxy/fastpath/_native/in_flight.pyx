# cython: language_level=3, boundscheck=False, wraparound=False
"""The queue of requests in flight, in order: two rings, of entries and of batches.

The batches of a request are stored together, in the order of the entries. Batches behind those of the last
entry are staged: their request is not forwarded yet. An idle connection owns hardly any memory here, because
a large ring of batches is freed after its last batch.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.string cimport memcpy, memset

from tsproxy.fastpath._native.table cimport Batch, Table
from tsproxy.wire.readers._native.fetch cimport FetchWalk

from tsproxy.model.kafka import Codec
from tsproxy.model.records import BatchFacts
from tsproxy.wire.readers.streamed import Layout
from tsproxy.fastpath.forwarded import ForwardedBatch, ForwardedFetch, ForwardedProduce, ForwardedRelay

cdef Py_ssize_t SMALLEST = 8
cdef Py_ssize_t MAX_KEPT = 512  # an empty ring of batches is freed if it has room for more
cdef tuple LAYOUTS = tuple(Layout)
cdef tuple CODECS = tuple(codec.name.lower() for codec in Codec)


cdef void* grown(void* ring, Py_ssize_t first, Py_ssize_t capacity, Py_ssize_t size) except NULL:
    """The ring with twice the capacity. Its part from `first` on is moved to the new end."""
    cdef Py_ssize_t more = 2 * capacity if capacity else SMALLEST
    cdef char* wider = <char*>PyMem_Realloc(ring, more * size)
    if wider == NULL:
        raise MemoryError
    if first:
        memcpy(wider + (more - capacity + first) * size, wider + first * size, (capacity - first) * size)
    return wider


cdef Entry own_entry(slot, int64_t held_bytes) noexcept:
    cdef Entry entry
    memset(&entry, 0, sizeof(Entry))
    entry.kind, entry.owner, entry.now_ms = SLOT, <PyObject*>slot, held_bytes
    return entry


cdef void release(Entry entry) noexcept:
    if entry.kind == PRODUCE:
        (<Table>entry.owner).in_flight -= 1
    if entry.owner != NULL:
        Py_DECREF(<object>entry.owner)


cdef class InFlight:
    def __cinit__(self, slot_of):
        self.slot_of = slot_of
        self.fetch = FetchWalk()

    def __dealloc__(self):
        while self.count:
            self.drop()
        PyMem_Free(self.entries)
        PyMem_Free(self.batches)

    def __len__(self):
        return self.count

    @property
    def held_bytes(self):
        return self.slot_bytes + self.count * sizeof(Entry) + self.batch_count * sizeof(Batch)

    def push(self, slot, int64_t held_bytes=0):
        self.add(own_entry(slot, held_bytes))
        self.slot_bytes += held_bytes

    def head(self):
        cdef Entry* entry = self.entry(0)
        if entry == NULL:
            return None
        if entry.kind != SLOT:
            slot = self.slot_of(self.forwarded(entry))
            self.drop()
            self.answered -= 1
            self.first = (self.first - 1) & (self.capacity - 1)
            self.count += 1
            Py_INCREF(slot)
            self.entries[self.first] = own_entry(slot, 0)
        return <object>self.entries[self.first].owner

    def own_head(self):
        cdef Entry* entry = self.entry(0)
        return <object>entry.owner if entry != NULL and entry.kind == SLOT else None

    def last(self):
        cdef Entry* entry
        if self.count == 0:
            return None
        entry = self.entry(self.count - 1)
        return <object>entry.owner if entry.kind == SLOT else None

    def pop(self):
        if self.count == 0:
            raise IndexError("nothing is in flight")
        self.drop()

    def clear(self):
        slots = []
        while self.count:
            slots.append(self.head())
            self.drop()
        return slots

    cdef Entry* entry(self, Py_ssize_t index) noexcept:
        """The entry at that place, NULL behind the last one. The place of the head is 0."""
        return &self.entries[(self.first + index) & (self.capacity - 1)] if index < self.count else NULL

    cdef Batch* batch(self, Py_ssize_t index) noexcept:
        """The batch at that place, counted from `first_batch`."""
        return &self.batches[(self.first_batch + index) & (self.batch_capacity - 1)]

    cdef Batch* stage(self) except NULL:
        """Memory for one more batch of a request that is not forwarded yet."""
        cdef Py_ssize_t capacity = self.batch_capacity
        if self.batch_count == capacity:
            self.batches = <Batch*>grown(self.batches, self.first_batch, capacity, sizeof(Batch))
            self.batch_capacity = 2 * capacity if capacity else SMALLEST
            if self.first_batch:
                self.first_batch += self.batch_capacity - capacity
        self.batch_count += 1
        return self.batch(self.batch_count - 1)

    cdef void unstage(self, Py_ssize_t count) noexcept:
        """Remove the last batches, so that `count` stay."""
        self.batch_count = count
        self.free_batches()

    cdef void free_batches(self) noexcept:
        """Free the ring of batches if it is large and empty."""
        if self.batch_count == 0 and self.batch_capacity > MAX_KEPT:
            PyMem_Free(self.batches)
            self.batches = NULL
            self.batch_capacity = self.first_batch = 0

    cdef int add(self, Entry entry) except -1:
        """Append an entry whose batches are staged already."""
        cdef Py_ssize_t capacity = self.capacity
        if self.count == capacity:
            self.entries = <Entry*>grown(self.entries, self.first, capacity, sizeof(Entry))
            self.capacity = 2 * capacity if capacity else SMALLEST
            if self.first:
                self.first += self.capacity - capacity
        if entry.owner != NULL:
            Py_INCREF(<object>entry.owner)
        self.entries[(self.first + self.count) & (self.capacity - 1)] = entry
        self.count += 1
        return 0

    cdef void drop(self) noexcept:
        """Remove the head and its batches."""
        cdef Entry entry = self.entries[self.first]
        self.first = (self.first + 1) & (self.capacity - 1)
        self.count -= 1
        self.answered += 1
        if entry.kind == SLOT:
            self.slot_bytes -= entry.now_ms
        if entry.batches:
            self.first_batch = (self.first_batch + entry.batches) & (self.batch_capacity - 1)
            self.batch_count -= entry.batches
            self.free_batches()
        release(entry)

    cdef object forwarded(self, Entry* entry):
        """The head as a value for the session."""
        cdef Py_ssize_t at
        cdef Batch* batch
        cdef Table table
        if entry.kind == RELAY:
            return ForwardedRelay(entry.correlation_id)
        if FETCH <= entry.kind <= SHARE_FETCH:
            return ForwardedFetch(entry.correlation_id, LAYOUTS[entry.kind - FETCH])
        table = <Table>entry.owner
        batches = []
        for at in range(entry.batches):
            batch = self.batch(at)
            has_times = batch.lowest_ms <= batch.highest_ms
            facts = BatchFacts(
                magic=2,
                codec=CODECS[batch.codec],
                batch_bytes=batch.size_in_bytes,
                records=batch.records,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                min_timestamp_ms=batch.lowest_ms if has_times else None,
                max_timestamp_ms=batch.highest_ms if has_times else None,
                is_unread=batch.is_unread,
            )
            topic, limits = table.topics[batch.row], table.limits[batch.row]
            topic_id = table.keys[batch.row] if table.names_ids else None
            batches.append(ForwardedBatch(topic, batch.partition, limits, facts, topic_id))
        return ForwardedProduce(
            entry.correlation_id,
            entry.api_version,
            entry.acks,
            entry.now_ms,
            table.peer,
            table.transactional_id,
            tuple(batches),
        )
