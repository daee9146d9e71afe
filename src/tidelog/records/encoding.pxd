# The C types of the variables in encoding.py, for Cython. Plain Python never reads this file.

cimport cython

@cython.locals(
    small="tuple",
    limit="Py_ssize_t",
    parts="list",
    max_timestamp="long long",
    timestamp="long long",
    delta="long long",
    offset_delta="Py_ssize_t",
    place="long long",
    length="Py_ssize_t",
)
cpdef tuple encode_records(object records, long long base_timestamp, object offset_deltas=*)

cdef bytes _encode_headers(object headers)
