# The C types of the variables in hashing.py, for Cython. Plain Python never reads this file.

cimport cython

cdef unsigned long long _MASK
cdef unsigned long long _SEED
cdef unsigned long long _M

cpdef unsigned long long murmur2(bytes key)

@cython.locals(row="Py_ssize_t", index="Py_ssize_t", start="Py_ssize_t", length="Py_ssize_t", size="Py_ssize_t")
cpdef object hash_rows(
    const unsigned char[::1] validity,
    const int[::1] offsets,
    const unsigned char[::1] data,
    Py_ssize_t first,
    Py_ssize_t count,
    unsigned int partition_count,
    int[::1] partitions,
)

@cython.locals(h="unsigned long long", k="unsigned long long", position="Py_ssize_t", whole="Py_ssize_t", rest="int")
cdef unsigned long long _murmur2(const unsigned char[::1] data, Py_ssize_t start, unsigned long long length)
