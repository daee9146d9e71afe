# The C types of the variables in column_loops.py, for Cython. Plain Python never reads this file.

cimport cython

cdef long long _MOST
cdef long long _LEAST
cdef int _SMALLEST_BODY
cdef int _LAST_SHIFT

cdef Py_ssize_t _FIELDS

@cython.locals(
    data="const unsigned char*",
    size="Py_ssize_t",
    position="Py_ssize_t",
    end="Py_ssize_t",
    at="Py_ssize_t",
    last_delta="long long",
    delta="long long",
    offset="long long",
    timestamp="long long",
    length="long long",
    key_start="Py_ssize_t",
    key_length="long long",
    value_start="Py_ssize_t",
    value_length="long long",
    headers_start="Py_ssize_t",
    header_count="long long",
)
cpdef Py_ssize_t locate_records(
    bytes payload,
    Py_ssize_t record_count,
    long long base_offset,
    long long base_timestamp,
    long long max_timestamp,
    int timestamp_type,
    long long last_offset_delta,
    long long wanted_from,
    long long wanted_until,
    Py_ssize_t row,
    long long[::1] offsets,
    long long[::1] timestamps,
    int[::1] timestamp_types,
    long long[::1] places,
) except -1

@cython.locals(row="Py_ssize_t", total="long long", nulls="long long", length="long long")
cpdef long long lay_out(
    const long long[::1] places, Py_ssize_t field, Py_ssize_t count, int[::1] offsets, unsigned char[::1] validity
) except -1

@cython.locals(at="Py_ssize_t", length="Py_ssize_t", start="Py_ssize_t")
cpdef object copy_fields(
    const unsigned char[::1] payload,
    const long long[::1] places,
    Py_ssize_t field,
    Py_ssize_t row,
    Py_ssize_t until,
    const int[::1] offsets,
    unsigned char[::1] target,
)

@cython.locals(row="Py_ssize_t", total="long long", number="long long")
cpdef long long total_of(const long long[::1] places, Py_ssize_t field, Py_ssize_t count) except -1

@cython.locals(
    data="const unsigned char*",
    size="Py_ssize_t",
    position="Py_ssize_t",
    remaining="long long",
    at="Py_ssize_t",
    length="long long",
)
cpdef Py_ssize_t locate_headers(
    bytes payload,
    const long long[::1] places,
    Py_ssize_t row,
    Py_ssize_t until,
    Py_ssize_t header,
    long long[::1] header_places,
) except -1

@cython.locals(folded="unsigned long long", shift="int", byte="unsigned long long")
cdef (long long, Py_ssize_t) read_long(
    const unsigned char* data, Py_ssize_t position, Py_ssize_t end
) except *

@cython.locals(
    first="Py_ssize_t",
    base_timestamp="long long",
    total="long long",
    index="Py_ssize_t",
    body="long long",
    length="long long",
    whole="long long",
)
cpdef tuple measure_rows(
    const int[::1] rows,
    Py_ssize_t row,
    Py_ssize_t until,
    const int[::1] key_lengths,
    const int[::1] value_lengths,
    const int[::1] header_sizes,
    const long long[::1] timestamps,
    Py_ssize_t count,
    long long most_bytes,
    int[::1] sizes,
)

@cython.locals(
    out="unsigned char*",
    first="Py_ssize_t",
    base_timestamp="long long",
    max_timestamp="long long",
    timestamp="long long",
    position="Py_ssize_t",
    index="Py_ssize_t",
    length="Py_ssize_t",
    start="Py_ssize_t",
    view="unsigned char[::1]",
)
cpdef long long write_rows(
    bytearray target,
    const int[::1] rows,
    Py_ssize_t row,
    Py_ssize_t until,
    const int[::1] sizes,
    const int[::1] key_starts,
    const int[::1] key_lengths,
    const unsigned char[::1] keys,
    const int[::1] value_starts,
    const int[::1] value_lengths,
    const unsigned char[::1] values,
    const int[::1] header_starts,
    const int[::1] header_sizes,
    const unsigned char[::1] headers,
    const long long[::1] timestamps,
) except? -1

@cython.locals(row="Py_ssize_t", index="Py_ssize_t", start="int", stop="int")
cpdef object lengths_of(
    const unsigned char[::1] validity,
    const int[::1] offsets,
    Py_ssize_t size,
    Py_ssize_t first,
    Py_ssize_t count,
    int[::1] starts,
    int[::1] lengths,
)

@cython.locals(
    row="Py_ssize_t",
    index="Py_ssize_t",
    start="Py_ssize_t",
    until="Py_ssize_t",
    total="long long",
    size="long long",
    length="long long",
)
cpdef long long measure_headers(
    const unsigned char[::1] validity,
    const int[::1] offsets,
    Py_ssize_t first,
    Py_ssize_t count,
    Py_ssize_t header_count,
    const int[::1] key_lengths,
    const int[::1] value_lengths,
    int[::1] starts,
    int[::1] sizes,
) except -1

@cython.locals(
    out="unsigned char*",
    position="Py_ssize_t",
    row="Py_ssize_t",
    index="Py_ssize_t",
    header="Py_ssize_t",
    until="Py_ssize_t",
    length="Py_ssize_t",
    start="Py_ssize_t",
    view="unsigned char[::1]",
)
cpdef object write_headers(
    bytearray target,
    const unsigned char[::1] validity,
    const int[::1] offsets,
    Py_ssize_t first,
    Py_ssize_t count,
    const int[::1] key_starts,
    const int[::1] key_lengths,
    const unsigned char[::1] keys,
    const int[::1] value_starts,
    const int[::1] value_lengths,
    const unsigned char[::1] values,
)

@cython.locals(folded="unsigned long long", size="int")
cdef int size_of(long long number) noexcept

@cython.locals(folded="unsigned long long")
cdef Py_ssize_t write_long(unsigned char* target, Py_ssize_t position, long long number) noexcept

@cython.locals(row="Py_ssize_t", used="long long", length="long long")
cpdef Py_ssize_t spread_rows(
    const int[::1] key_lengths,
    const int[::1] value_lengths,
    Py_ssize_t count,
    Py_ssize_t partition_count,
    long long run_bytes,
    Py_ssize_t partition,
    int[::1] partitions,
) except -1

@cython.locals(row="Py_ssize_t", at="long long", partition="Py_ssize_t", slot="Py_ssize_t", partition_count="Py_ssize_t")
cpdef object sort_rows(const int[::1] partitions, Py_ssize_t count, int[::1] starts, int[::1] rows)
