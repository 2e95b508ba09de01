# cython: language_level=3, boundscheck=False, wraparound=False
"""A pipe that takes the fast path. `_native.pyi` describes the interface.

Bytes that the filters let through are sent by `other` in one write, straight from the buffer into which they
were read. The beginning of a request is kept until the end of the request has come.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from tsproxy.fastpath._native.answers cimport AnswerFilter
from tsproxy.fastpath._native.rejecter cimport Rejecter
from tsproxy.fastpath._native.requests cimport RequestFilter
from tsproxy.wire.readers._native.cursor cimport peek_int16, peek_int32

from tsproxy.clock import Clock
from tsproxy.proxy.pipe.buffers import READ_BYTES as _READ_BYTES

cdef extern from "sys/socket.h" nogil:
    ssize_t send_to_socket "send"(int fd, const void* data, size_t size, int flags)
    int MSG_DONTWAIT

cdef extern from "time.h" nogil:
    struct timespec:
        int64_t tv_sec
        int64_t tv_nsec
    int CLOCK_REALTIME
    int clock_gettime(int clock, timespec* time)

cdef extern from *:
    """
    #ifndef MSG_NOSIGNAL
    #define MSG_NOSIGNAL 0  /* where it is missing, Python has SIGPIPE ignored anyway */
    #endif
    """
    int MSG_NOSIGNAL

cdef Py_ssize_t READ_BYTES = _READ_BYTES
cdef Py_ssize_t SIZE_BYTES = 4


cdef int64_t system_now_ms() noexcept:
    """The same as `Clock.now_ms`, without a call into Python for each read."""
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * 1_000 + now.tv_nsec // 1_000_000


cdef class Tally:
    cdef public int64_t bytes


cdef class Pipe:
    cdef readonly Py_ssize_t kept
    cdef readonly int64_t runs
    cdef public bint was_heard
    cdef public Pipe other
    cdef public object transport
    cdef public object watch
    cdef public Rejecter rejecter
    cdef RequestFilter requests
    cdef AnswerFilter answers
    cdef bytearray buffer
    cdef object buffers
    cdef object shared
    cdef uint8_t* shared_at
    cdef object now_ms       # None: the system's clock is read
    cdef object is_closing   # the transport's
    cdef bint is_queuing     # the transport may still hold bytes that the socket did not accept
    cdef Py_ssize_t expected
    cdef Py_ssize_t counted  # of the kept bytes
    cdef int fd
    cdef Tally tally

    def __init__(self, buffers, Tally tally, clock):
        cdef Py_buffer view
        self.buffers, self.tally = buffers, tally
        self.now_ms = None if type(clock) is Clock else clock.now_ms
        self.shared, self.fd = buffers.shared, -1
        PyObject_GetBuffer(self.shared, &view, PyBUF_SIMPLE)
        self.shared_at = <uint8_t*>view.buf  # `shared` keeps the memory in its place
        PyBuffer_Release(&view)

    @property
    def filter(self):
        return self.answers if self.requests is None else self.requests

    @filter.setter
    def filter(self, chosen):
        self.requests = chosen if isinstance(chosen, RequestFilter) else None
        self.answers = chosen if isinstance(chosen, AnswerFilter) else None

    def session_bytes_received(self, data):
        raise NotImplementedError

    def buffer_grew(self):
        pass

    def throttled(self, mute_ms):
        pass

    def failed(self, error):
        raise NotImplementedError

    def get_buffer(self, sizehint):
        if self.kept:
            return PyMemoryView_FromObject(self.buffer)[self.kept:]
        if self.buffer is None and self.expected > READ_BYTES:
            self.buffer = self.buffers.spare(self.expected)
        return self.shared if self.buffer is None else PyMemoryView_FromObject(self.buffer)

    def buffer_updated(self, Py_ssize_t nbytes):
        cdef uint8_t* come = self.shared_at if self.buffer is None else <uint8_t*>PyByteArray_AS_STRING(self.buffer)
        cdef Py_ssize_t size = self.kept + nbytes
        cdef Py_ssize_t end
        held = self.buffer  # `throttled` may close this end, and give the buffer back: it is still read here
        self.tally.bytes += nbytes
        self.was_heard = True
        if self.watch is not None:
            self.watch.begins(self, peek_int16(come + SIZE_BYTES) if size >= SIZE_BYTES + 2 else -1)
        try:
            end = self.forward(come, size)
            if end == size:
                if end <= READ_BYTES:
                    self.expected = 0
                if self.buffer is not None:
                    self.release()
            elif self.requests is not None and self.requests.is_beginning(come + end, size - end):
                self.keep_from(come + end, size - end, end)
                if self.kept > self.counted:  # a client's requests are mostly alike: few are the largest so far
                    self.buffer_grew()
            else:
                rest = PyBytes_FromStringAndSize(<char*>come + end, size - end)
                self.release()
                self.session_bytes_received(rest)
        except Exception as error:
            self.failed(error)
        if self.watch is not None:
            self.watch.ends(self)

    cdef Py_ssize_t forward(self, const uint8_t* come, Py_ssize_t size) except -1:
        cdef Py_ssize_t start = 0, end = 0
        cdef int64_t now_ms
        if self.other is None:
            return 0
        if self.requests is not None:
            now_ms = system_now_ms() if self.now_ms is None else self.now_ms()
            if self.rejecter is not None:
                start = self.reject(come, size, now_ms)
                if self.requests is None or self.other is None:  # `throttled` has closed this end
                    return start
            end = start + self.requests.run(come + start, size - start, now_ms)
        elif self.answers is not None:
            end = self.answers.run(come, size)
        if end:
            self.runs += 1
        if end > start:
            self.other.put(come + start, end - start)
        return end

    cdef Py_ssize_t reject(self, const uint8_t* come, Py_ssize_t size, int64_t now_ms) except -1:
        cdef Rejecter rejecter = self.rejecter
        cdef Py_ssize_t end = 0, taken
        while True:
            taken = rejecter.run(come + end, size - end, now_ms)
            end += taken
            if taken:
                self.put(rejecter.answers, rejecter.size)
            if not rejecter.throttle_ms:
                return end
            self.throttled(rejecter.throttle_ms)
            if self.rejecter is not rejecter:  # `throttled` has closed this end
                return end

    def attach(self, transport):
        self.transport, self.is_closing = transport, transport.is_closing
        if transport.get_extra_info("ssl_object") is None:
            self.fd = transport.get_extra_info("socket").fileno()

    def detach(self):
        self.fd = -1
        self.release()

    @property
    def announced(self):
        if self.buffer is None or self.kept < SIZE_BYTES:
            return None
        return SIZE_BYTES + peek_int32(<const uint8_t*>PyByteArray_AS_STRING(self.buffer))

    def send(self, data):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            self.put(<const uint8_t*>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)

    cdef int put(self, const uint8_t* data, Py_ssize_t size) except -1:
        cdef Py_ssize_t sent = 0
        if self.transport is None or self.is_closing():
            return 0
        if self.is_queuing:
            self.is_queuing = self.transport.get_write_buffer_size() > 0
        if self.fd >= 0 and not self.is_queuing:
            sent = max(0, send_to_socket(self.fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL))
        if sent < size:
            self.is_queuing = True
            self.transport.write(PyBytes_FromStringAndSize(<const char*>data + sent, size - sent))
        return 0

    def count_kept(self):
        self.counted = self.kept
        return self.kept

    def keep(self, bytes data):
        if data:
            self.keep_from(<const uint8_t*><const char*>data, len(data), 1)

    def take_kept(self):
        kept = b""
        if self.buffer is not None:
            kept = PyBytes_FromStringAndSize(PyByteArray_AS_STRING(self.buffer), self.kept)
        self.release()
        return kept

    cpdef release(self):
        self.kept = 0
        if self.buffer is not None:
            buffer, self.buffer = self.buffer, None
            self.buffers.return_buffer(buffer)

    cdef int keep_from(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t start) except -1:
        """Keep the `size` bytes at `data`, which came behind `start` other bytes."""
        cdef bytearray held = self.buffer
        cdef bytearray buffer
        if start == 0 and held is not None and size < PyByteArray_GET_SIZE(held):
            self.kept = size
            return 0
        self.expected = SIZE_BYTES + peek_int32(data) if size >= SIZE_BYTES else 0
        buffer = self.buffers.borrow(size, self.expected)
        memcpy(PyByteArray_AS_STRING(buffer), data, size)
        self.buffer, self.kept = buffer, size
        if held is not None:
            self.buffers.return_buffer(held)
        return 0
