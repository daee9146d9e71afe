# The C types of the variables in checking.py, for Cython. Plain Python never reads this file.
#
# Sums of timestamps wrap as in Java, because the extension is compiled with -fwrapv.

cimport cython

cdef long long _MOST
cdef long long _LEAST
cdef long long _NO_TIMESTAMP
cdef int _SMALLEST_BODY
cdef int _FIFTH_SHIFT
cdef unsigned long long _FIFTH_MOST
cdef int _TENTH_SHIFT
cdef unsigned long long _TENTH_MOST
cdef int _LENGTH
cdef int _ATTRIBUTES
cdef int _TIMESTAMP
cdef int _OFFSET
cdef int _KEY
cdef int _VALUE
cdef int _HEADERS
cdef int _HEADER_KEY
cdef int _HEADER_VALUE
cdef int _END
cdef int _NO_KEY
cdef int _TIME_OUT_OF_RANGE
cdef int _TIME_ALREADY_SET


cdef class RecordCheck:
    cdef public long long max_timestamp
    cdef public long long refused
    cdef public list listed
    cdef public bint found
    cdef public long long found_delta
    cdef public long long found_timestamp
    cdef bint _seeks
    cdef long long _sought_ms
    cdef long long _sought_from
    cdef long long _last_delta
    cdef long long _max_listed
    cdef long long _count
    cdef long long _base_timestamp
    cdef bint _stamped
    cdef long long _stamped_ms
    cdef bint _needs_key
    cdef bint _limits_time
    cdef long long _now_ms
    cdef long long _before_max_ms
    cdef long long _after_max_ms
    cdef bint _judges
    cdef long long _index
    cdef long long _fed
    cdef int _field
    cdef unsigned long long _folded
    cdef int _shift
    cdef long long _skip
    cdef long long _left
    cdef long long _headers
    cdef long long _timestamp
    cdef long long _key_length
    cdef long long _value_length

    @cython.locals(size="Py_ssize_t", position="Py_ssize_t")
    cpdef feed(self, const unsigned char[::1] piece)

    cpdef finish(self)

    @cython.locals(
        data="const unsigned char[::1]",
        index="long long",
        count="long long",
        base_timestamp="long long",
        max_timestamp="long long",
        judges="bint",
        start="Py_ssize_t",
        end="Py_ssize_t",
        folded="long long",
        length="long long",
        delta="long long",
        timestamp="long long",
        key_length="long long",
        value_length="long long",
    )
    cdef Py_ssize_t _whole_records(self, const unsigned char[::1] piece, Py_ssize_t position, Py_ssize_t size) except -1

    @cython.locals(
        data="const unsigned char[::1]",
        step="long long",
        byte="unsigned long long",
        most="unsigned long long",
        number="long long",
    )
    cdef Py_ssize_t _next_fields(self, const unsigned char[::1] piece, Py_ssize_t position, Py_ssize_t size) except -1

    @cython.locals(field="int", timestamp="long long")
    cdef _take(self, long long number, Py_ssize_t position)

    cdef _pass_over(self, long long length)

    @cython.locals(timestamp="long long")
    cdef _end_record(self, Py_ssize_t position)

    @cython.locals(why="int", age="long long", ahead="long long")
    cdef long long _judge(self, long long timestamp, long long key_length, long long value_length) except? -1


@cython.locals(count="long long", length="long long", number="long long")
cdef Py_ssize_t _skip_headers(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t end, long long fed) except -1

cdef bint _is_whole(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t size)

@cython.locals(folded="unsigned long long", shift="int", byte="unsigned long long")
cdef (long long, Py_ssize_t) _read_int(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t end, long long fed) except *

@cython.locals(folded="unsigned long long", shift="int", byte="unsigned long long")
cdef (long long, Py_ssize_t) _read_long(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t end, long long fed) except *
