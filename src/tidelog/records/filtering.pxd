# The C types of the variables in filtering.py, for Cython. Plain Python never reads this file.

cimport cython

cdef Py_ssize_t _FIELDS
cdef long long _SMALLEST_BODY
cdef int _LAST_SHIFT
cdef long long _MOST
cdef unsigned long long _MASK
cdef unsigned long long _SIP_0
cdef unsigned long long _SIP_1
cdef unsigned long long _SIP_2
cdef unsigned long long _SIP_3

@cython.locals(found="long long")
cpdef object find_records(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t count, long long[::1] spans)

@cython.locals(number="Py_ssize_t", length="long long")
cpdef object hash_keys(
    const unsigned char[::1] data,
    Py_ssize_t count,
    const long long[::1] spans,
    const unsigned long long[::1] secrets,
    unsigned long long[::1] hashes,
)

@cython.locals(had_room="int")
cpdef object put_offsets(
    Py_ssize_t count,
    const long long[::1] spans,
    const unsigned long long[::1] hashes,
    unsigned long long[::1] table,
    long long capacity,
    long long base_offset,
    long long first_offset,
    long long[::1] state,
)

cpdef object keep_records(
    const unsigned char[::1] data,
    Py_ssize_t count,
    const long long[::1] spans,
    const unsigned long long[::1] hashes,
    const unsigned long long[::1] table,
    long long base_offset,
    long long mapped_up_to,
    int keeps_tombstones,
    unsigned char[::1] output,
    long long[::1] totals,
)

@cython.locals(at="Py_ssize_t")
cpdef object last_offset(const unsigned long long[::1] hashes, const unsigned long long[::1] table)

@cython.locals(
    size="Py_ssize_t",
    at="Py_ssize_t",
    byte="long long",
    high="long long",
    behind="Py_ssize_t",
    length="long long",
    end="Py_ssize_t",
)
cdef long long _find_records(
    const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t count, long long[::1] spans
) noexcept nogil

@cython.locals(shift="int", byte="int")
cdef Py_ssize_t _number_end(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t size) noexcept nogil

@cython.locals(folded="unsigned long long", shift="int", bits="unsigned long long")
cdef long long _number(const unsigned char[::1] data, Py_ssize_t position, Py_ssize_t end) noexcept nogil

@cython.locals(
    v0="unsigned long long",
    v1="unsigned long long",
    v2="unsigned long long",
    v3="unsigned long long",
    word="unsigned long long",
    bits="unsigned long long",
    position="Py_ssize_t",
    end="Py_ssize_t",
    stop="Py_ssize_t",
    words="Py_ssize_t",
    step="Py_ssize_t",
    rounds="int",
    shift="int",
    _="int",
)
cdef void _hash(
    const unsigned char[::1] data,
    Py_ssize_t start,
    Py_ssize_t length,
    const unsigned long long[::1] secrets,
    unsigned long long[::1] hashes,
    Py_ssize_t at,
) noexcept nogil

@cython.locals(slots="unsigned long long", slot="unsigned long long", step="unsigned long long", at="Py_ssize_t")
cdef Py_ssize_t _slot_of(
    unsigned long long first, unsigned long long second, const unsigned long long[::1] table
) noexcept nogil

@cython.locals(
    number="Py_ssize_t",
    delta="long long",
    offset="long long",
    first="unsigned long long",
    second="unsigned long long",
    at="Py_ssize_t",
)
cdef int _put_offsets(
    Py_ssize_t count,
    const long long[::1] spans,
    const unsigned long long[::1] hashes,
    unsigned long long[::1] table,
    long long capacity,
    long long base_offset,
    long long first_offset,
    long long[::1] state,
) noexcept nogil

@cython.locals(
    begin="Py_ssize_t",
    end="Py_ssize_t",
    written="Py_ssize_t",
    number="Py_ssize_t",
    at="Py_ssize_t",
    slot="Py_ssize_t",
    delta="long long",
    offset="long long",
    last="long long",
)
cdef void _keep_records(
    const unsigned char[::1] data,
    Py_ssize_t count,
    const long long[::1] spans,
    const unsigned long long[::1] hashes,
    const unsigned long long[::1] table,
    long long base_offset,
    long long mapped_up_to,
    int keeps_tombstones,
    unsigned char[::1] output,
    long long[::1] totals,
) noexcept nogil
