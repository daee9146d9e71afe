# The C types of the variables in row_digest.py, for Cython. Plain Python never reads this file.

cimport cython

cdef unsigned long long _MASK
cdef unsigned long long _M
cdef unsigned long long _SECOND
cdef unsigned long long _THIRD
cdef unsigned long long _FOURTH
cdef unsigned long long _NULL

@cython.locals(
    row="Py_ssize_t",
    length="long long",
    position="Py_ssize_t",
    end="Py_ssize_t",
    state="unsigned long long",
    second="unsigned long long",
    third="unsigned long long",
    fourth="unsigned long long",
    word="unsigned long long",
    last="unsigned long long",
    shift="int",
    whole="Py_ssize_t",
    index="Py_ssize_t",
    right="int",
    left="int",
    this="unsigned long long",
    following="unsigned long long",
)
cpdef object mix_fields(
    const int[::1] starts,
    const int[::1] lengths,
    const unsigned char[::1] data,
    const unsigned long long[::1] words,
    Py_ssize_t count,
    unsigned long long[::1] states,
)

@cython.locals(row="Py_ssize_t", state="unsigned long long")
cpdef object mix_numbers(const long long[::1] numbers, Py_ssize_t count, unsigned long long[::1] states)

@cython.locals(row="Py_ssize_t", state="unsigned long long", low="unsigned long long", high="unsigned long long")
cpdef object add_up(const unsigned long long[::1] states, Py_ssize_t count, unsigned long long[::1] totals)

@cython.locals(
    b0="unsigned long long",
    b1="unsigned long long",
    b2="unsigned long long",
    b3="unsigned long long",
    b4="unsigned long long",
    b5="unsigned long long",
    b6="unsigned long long",
    b7="unsigned long long",
)
cdef unsigned long long word_at(const unsigned char[::1] data, Py_ssize_t position) noexcept

cdef unsigned long long joined(
    unsigned long long first, unsigned long long second, unsigned long long third, unsigned long long fourth
) noexcept
