# The C types of the variables in decoding.py, for Cython. Plain Python never reads this file.
#
# Sums of offsets and timestamps wrap as in Java, because the extension is compiled with -fwrapv.

cimport cython

cdef short[16384] _SIGNED
cdef long long _MOST
cdef long long _LEAST
cdef int _SMALLEST_BODY
cdef int _LAST_SHIFT

@cython.locals(
    base_offset="long long",
    base_timestamp="long long",
    append_time="long long",
    stamped="bint",
    placed="bint",
    wanted_from="long long",
    last_delta="long long",
    delta="long long",
    offset="long long",
    timestamp="long long",
    records="list",
    headers="tuple",
    no_headers="tuple",
    data="const unsigned char*",
    signed="short*",
    size="Py_ssize_t",
    position="Py_ssize_t",
    end="Py_ssize_t",
    length="long long",
    byte="unsigned int",
    high="unsigned int",
)
cdef list _decode_records(object kind, object header, bytes payload, object place)

@cython.locals(data="const unsigned char*", count="long long", length="long long", headers="list")
cdef tuple _decode_headers(bytes payload, Py_ssize_t position, Py_ssize_t end)

@cython.locals(folded="unsigned long long", shift="int", byte="unsigned long long")
cdef (long long, Py_ssize_t) read_long(const unsigned char* data, Py_ssize_t position, Py_ssize_t end) except *
