"""Encodes and decodes messages by tables: what `tidelog.protocol.codec` does in plain Python, compiled.

A `Plan` is one version of one struct as a table: a `Step` for each field. Reading walks a pointer over the bytes,
writing fills a buffer that grows. Nothing is trusted: `_need` is asked before every read, and a count is compared with
the bytes that are left before anything is allocated. Where the plain codec raises, this one raises, with exceptions of
the same kinds; tests/protocol/test_compiled_codec.py holds the two beside each other.

Messages are made by calling their class, or, where the class is seen to do nothing but store its arguments in slots or
in the memory of a compiled object, by filling that: `_lay_out` says when. Which of the two codecs runs is decided in
`tidelog.protocol.implementation`.
"""

from struct import error as StructError
from types import GetSetDescriptorType, MemberDescriptorType

from tidelog.model.unread import UnreadBytes

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches, PyErr_Occurred
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromLong, PyLong_FromLongLong
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.memoryview cimport PyMemoryView_Check, PyMemoryView_FromObject
from cpython.object cimport Py_NE, PyObject, PyObject_GetAttr, PyObject_RichCompareBool, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_TYPE, Py_XDECREF
from cpython.unicode cimport PyUnicode_Check
from libc.limits cimport INT_MAX
from libc.stdint cimport INT16_MAX, INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

cdef extern from "structmember.h":
    enum: T_OBJECT_EX
    ctypedef struct PyMemberDef:
        int type
        Py_ssize_t offset
        int flags
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member

cdef extern from "Python.h":
    enum: PY_SSIZE_T_MAX
    # Without an "except" clause: the caller looks for the exception and names the field.
    long long PyLong_AsLongLong(PyObject* value)
    double PyFloat_AsDouble(PyObject* value)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    object PyObject_Vectorcall(PyObject* callable, PyObject** arguments, size_t positional, PyObject* keywords)
    bint PyList_CheckExact(object value)
    bint PyTuple_CheckExact(object value)
    Py_ssize_t PySequence_Fast_GET_SIZE(object values)
    PyObject* PySequence_Fast_GET_ITEM(object values, Py_ssize_t index)

# More than any message has (13), so that their values have room on the stack.
cdef enum:
    MOST_FIELDS = 64
    # What small messages are written to before any memory is asked for.
    FIRST_ROOM = 1024
    # A list is made in its final size up to here. Beyond it grows with what is really there: a claimed count costs the
    # sender one byte for each element, and this process eight.
    MOST_AT_ONCE = 256
    # Larger buffers are copied once, when everything is joined, and not into the memory of small values before.
    COPY_ONCE_FROM = 4096
    # Tagged fields are counted in one byte.
    MOST_TAGS = 127
    # Of an object of a compiled class, before its fields: reference count, type, methods.
    HEAD_WORDS = 3

# Larger numbers are kept as objects by compiled classes.
cdef int64_t MOST_PACKED = (<int64_t>1 << 62) - 1

cdef enum Code:
    BOOL
    INT8
    INT16
    UINT16
    INT32
    UINT32
    INT64
    FLOAT64
    UUID
    STRING
    BYTES
    RECORDS
    STRUCT
    ARRAY

_CODES = {
    "bool": BOOL,
    "int8": INT8,
    "int16": INT16,
    "uint16": UINT16,
    "int32": INT32,
    "uint32": UINT32,
    "int64": INT64,
    "float64": FLOAT64,
    "uuid": UUID,
    "string": STRING,
    "bytes": BYTES,
    "records": RECORDS,
}


# One field of one version. The objects are kept alive by the plan.
cdef struct Step:
    Code code
    # Of an array: what its elements are.
    Code element
    bint compact
    bint nullable
    # A struct that may be null is marked absent by this byte, which is read as a number below `least_present`.
    uint8_t absent
    int least_present
    # The fewest bytes of an element of an array.
    int64_t smallest
    int64_t tag
    # Where its value goes, from the beginning of the message or of the array of arguments.
    Py_ssize_t place
    # It goes there as mypyc keeps integers: twice the number, or a pointer to a large one with its last bit set.
    bint packed
    PyObject* name
    PyObject* default
    PyObject* plan


cdef class Plan:
    """One version of one struct: fields in line, then tagged ones by their tags, then those that the version lacks."""

    cdef object kind
    cdef bint flexible
    cdef bint is_laid_out
    # Of a class compiled by mypyc: the word behind the head of each of its objects.
    cdef void* methods
    cdef int inline_count
    cdef int present_count
    cdef int count
    cdef Step* steps
    cdef tuple keywords
    cdef list kept

    def __dealloc__(self):
        PyMem_Free(self.steps)


# ----------------------------------------------------------------------------------------------------------------------
# Making plans. Nothing here is asked for again once a plan has been made.

ctypedef object (*New)(PyTypeObject* kind, PyObject* positional, PyObject* keywords)

cdef extern from "Python.h":
    ctypedef struct AllocatingType "PyTypeObject":
        object (*tp_alloc)(PyTypeObject* kind, Py_ssize_t items)


cdef dict _messages = {}
cdef dict _structs = {}
cdef tuple _nothing = ()


cdef Plan _plan_of_message(object kind, object version):
    cdef PyObject* versions = PyDict_GetItem(_messages, kind)
    cdef PyObject* found
    if versions != NULL:
        found = PyDict_GetItem(<object>versions, version)
        if found != NULL:
            return <Plan>found
    # Not at the top, because it imports this module.
    from tidelog.protocol.codec import is_flexible

    plan = _plan_of_struct(kind, version, is_flexible(kind, version))
    _messages.setdefault(kind, {})[version] = plan
    return plan


cdef Plan _plan_of_struct(object kind, object version, bint flexible):
    key = (kind, version, flexible)
    if key not in _structs:
        _structs[key] = _make_plan(kind, version, flexible)
    return <Plan>_structs[key]


cdef Plan _make_plan(object kind, object version, bint flexible):
    from tidelog.protocol.codec import present_fields

    inline, tagged = present_fields(kind, version, flexible)
    tagged = sorted(tagged, key=lambda field: field.tag)
    lacking = [field for field in kind.SCHEMA.fields if field not in inline and field not in tagged]
    fields = [*inline, *tagged, *lacking]
    if len(fields) > MOST_FIELDS or len(tagged) > MOST_TAGS:
        raise ValueError(f"{kind.__name__} has more fields than the compiled codec has room for")
    cdef Plan plan = Plan()
    plan.steps = <Step*>PyMem_Calloc(len(fields) + 1, sizeof(Step))
    if plan.steps == NULL:
        raise MemoryError()
    plan.kind = kind
    plan.flexible = flexible
    plan.inline_count = len(inline)
    plan.present_count = len(inline) + len(tagged)
    plan.count = len(fields)
    plan.keywords = tuple([field.name for field in [*inline, *tagged]])
    plan.kept = []
    defaults = kind()
    for index, field in enumerate(fields):
        _make_step(plan, &plan.steps[index], field, version, getattr(defaults, field.name))
        plan.steps[index].place = index * sizeof(PyObject*)
    _lay_out(plan)
    return plan


cdef int _make_step(Plan plan, Step* step, object field, object version, object default) except -1:
    from tidelog.protocol.codec import is_compact, smallest_element
    from tidelog.protocol.schema import covers

    kind = plan.kind
    is_array = field.kind.startswith("[]")
    element = field.kind.removeprefix("[]")
    step.element = <Code><int>_CODES.get(element, STRUCT)
    step.code = ARRAY if is_array else step.element
    step.compact = is_compact(field, version, plan.flexible)
    step.nullable = covers(field.nullable, version)
    # Kafka marks an absent struct with -1 in line, but with 0 in a tagged field.
    is_tagged = covers(field.tagged, version)
    step.absent = 0 if is_tagged else 0xFF
    step.least_present = 1 if is_tagged else 0
    step.tag = field.tag
    if is_array:
        step.smallest = smallest_element(kind, field, version, plan.flexible)
    nested = _plan_of_struct(kind.STRUCTS[element], version, plan.flexible) if step.element == STRUCT else None
    plan.kept += [field.name, default, nested]
    step.name = <PyObject*>field.name
    step.default = <PyObject*>default
    step.plan = <PyObject*>nested
    return 0


cdef int _lay_out(Plan plan) except -1:
    """Fill new messages directly, if their class keeps every field in a slot and does nothing else.

    The class is tried out: whatever it is called with must come back from the slots. Where a class does more than to
    store, it is called for each message.
    """
    names = [field.name for field in plan.kind.SCHEMA.fields]
    slots = [vars(plan.kind).get(name) for name in names]
    if names and all([type(slot) is GetSetDescriptorType for slot in slots]):
        return _lay_out_compiled(plan)
    if not names or not all([type(slot) is MemberDescriptorType for slot in slots]):
        return 0
    places = {}
    for name, slot in zip(names, slots):
        member = (<PyMemberDescrObject*>slot).d_member
        if member.type != T_OBJECT_EX or member.flags != 0:
            return 0
        places[name] = member.offset
    tried = {name: object() for name in names}
    try:
        called = plan.kind(**tried)
    except Exception:
        # It does something with its arguments.
        return 0
    made = _new_message(plan)
    if type(called) is not plan.kind or type(made) is not plan.kind or any([hasattr(made, name) for name in names]):
        return 0
    for name in names:
        stored = (<PyObject**>(<char*><PyObject*>called + <Py_ssize_t>places[name]))[0]
        if stored != <PyObject*>tried[name] or getattr(called, name) is not tried[name]:
            return 0
    for index in range(plan.count):
        plan.steps[index].place = places[<object>plan.steps[index].name]
    plan.is_laid_out = True
    return 0


cdef int _lay_out_compiled(Plan plan) except -1:
    """The same for a class compiled by mypyc, which has no slots, but a word of memory for each field.

    Nothing is assumed about their order, nor that they are there at all: two objects are made, one with small and one
    with large numbers, and every word behind the first three (reference count, type, methods) must be what one field
    was given. Fields that are not kept in a whole word, such as a bool, are not found, and then the class is called.
    """
    fields = plan.kind.SCHEMA.fields
    if (<PyTypeObject*>plan.kind).tp_basicsize != <Py_ssize_t>((HEAD_WORDS + len(fields)) * sizeof(void*)):
        return 0
    small = {field.name: _trial(plan.kind, field, 10_000 + 7 * index) for index, field in enumerate(fields)}
    large = {field.name: _trial(plan.kind, field, INT64_MAX - 7 * index) for index, field in enumerate(fields)}
    if None in small.values():
        return 0
    try:
        first, second = plan.kind(**small), plan.kind(**large)
    except Exception:
        # It does something with its arguments.
        return 0
    if type(first) is not plan.kind or _word(first, HEAD_WORDS - 1) != _word(second, HEAD_WORDS - 1):
        return 0
    places = {}
    words = [(_word(first, at), _word(second, at)) for at in range(HEAD_WORDS + len(fields))]
    for name in small:
        expected = (_kept_as(small[name]), _kept_as(large[name]))
        found = [at for at in range(HEAD_WORDS, len(words)) if words[at] == expected]
        if len(found) != 1:
            return 0
        places[name] = found[0] * sizeof(void*)
    for index in range(plan.count):
        name = <object>plan.steps[index].name
        plan.steps[index].place = places[name]
        plan.steps[index].packed = type(small[name]) is int
    plan.methods = <void*><size_t>_word(first, HEAD_WORDS - 1)
    plan.is_laid_out = True
    return 0


cdef object _trial(object kind, object field, number):
    """A value for the field that no other field and no default has; None where it would not be kept in one word."""
    element = field.kind.removeprefix("[]")
    if element != field.kind:
        return [number]
    code = _CODES.get(element, STRUCT)
    if code == STRUCT:
        return kind.STRUCTS[element]()
    if code == STRING:
        return str(number)
    if code in (BYTES, RECORDS, UUID):
        return str(number).encode()
    if code in (INT8, INT16, UINT16, INT32, UINT32, INT64):
        return number
    return None


cdef object _word(object message, Py_ssize_t index):
    return (<size_t*><PyObject*>message)[index]


cdef object _kept_as(object value):
    if type(value) is not int:
        return <size_t><PyObject*>value
    if -MOST_PACKED - 1 <= value <= MOST_PACKED:
        return value << 1
    return <size_t><PyObject*>value | 1


cdef inline object _new_message(Plan plan):
    if plan.methods != NULL:
        return _new_compiled(plan)
    return (<New>(<PyTypeObject*>plan.kind).tp_new)(<PyTypeObject*>plan.kind, <PyObject*>_nothing, NULL)


cdef inline object _new_compiled(Plan plan):
    """All words but those of its head are 0, which is no object yet or the number 0."""
    message = (<AllocatingType*>plan.kind).tp_alloc(<PyTypeObject*>plan.kind, 0)
    (<void**><PyObject*>message)[HEAD_WORDS - 1] = plan.methods
    return message


def is_filled(kind, version):
    """Whether messages of this kind are filled; otherwise they are made by calling their class."""
    return _plan_of_message(kind, version).is_laid_out


# ----------------------------------------------------------------------------------------------------------------------
# Decoding.

cdef struct Reader:
    const uint8_t* start
    const uint8_t* at
    const uint8_t* end
    # What is read, borrowed from the caller; records are slices of it.
    PyObject* source


def decode(kind, buffer, version, Py_ssize_t position):
    """The message at `position` and the position behind it. Fields of the kind `records` are views of `buffer`."""
    cdef Plan plan = _plan_of_message(kind, version)
    cdef Reader reader
    cdef Py_buffer memory
    PyObject_GetBuffer(buffer, &memory, PyBUF_SIMPLE)
    try:
        if memory.itemsize != 1:
            raise TypeError("messages are read from bytes, not from larger items")
        if position < 0 or position > memory.len:
            raise IndexError(f"byte {position} is not one of {memory.len}")
        reader.start = <const uint8_t*>memory.buf
        reader.at = reader.start + position
        reader.end = reader.start + memory.len
        reader.source = <PyObject*>buffer
        message = _read_struct(plan, &reader)
        return message, reader.at - reader.start
    except (IndexError, UnicodeDecodeError) as error:
        from tidelog.protocol.codec import ProtocolError

        raise ProtocolError(f"{kind.__name__} version {version}: {error}") from error
    finally:
        PyBuffer_Release(&memory)


cdef object _read_struct(Plan plan, Reader* reader):
    if not plan.is_laid_out:
        return _read_and_call(plan, reader)
    message = _new_message(plan)
    # If this raises, the message goes with the values that it has.
    _fill(plan, reader, <char*><PyObject*>message, plan.count)
    return message


cdef object _read_and_call(Plan plan, Reader* reader):
    cdef PyObject* values[MOST_FIELDS]
    cdef int index
    memset(values, 0, sizeof(PyObject*) * plan.present_count)
    try:
        _fill(plan, reader, <char*>values, plan.present_count)
        return PyObject_Vectorcall(<PyObject*>plan.kind, values, 0, <PyObject*>plan.keywords)
    finally:
        for index in range(plan.present_count):
            Py_XDECREF(values[index])


cdef int _fill(Plan plan, Reader* reader, char* target, int count) except -1:
    """Read all fields, and give their defaults to those of the first `count` that are not there."""
    cdef int index
    for index in range(plan.inline_count):
        if plan.steps[index].packed:
            _put_number(target, &plan.steps[index], _read_integer(plan.steps[index].code, reader))
        else:
            _put(target, &plan.steps[index], _read_value(&plan.steps[index], plan.steps[index].code, reader))
    for index in range(plan.inline_count, count):
        _put(target, &plan.steps[index], <object>plan.steps[index].default)
    if plan.flexible:
        _read_tagged(plan, reader, target)
    return 0


cdef inline int _put_number(char* target, Step* step, int64_t number) except -1:
    if -MOST_PACKED - 1 <= number <= MOST_PACKED:
        _put_packed(target, step, <size_t>(number << 1))
    else:
        large = PyLong_FromLongLong(number)
        Py_INCREF(large)
        _put_packed(target, step, <size_t><PyObject*>large | 1)
    return 0


cdef inline void _put_packed(char* target, Step* step, size_t word) noexcept:
    cdef size_t* place = <size_t*>(target + step.place)
    cdef size_t before = place[0]
    place[0] = word
    if before & 1:
        Py_XDECREF(<PyObject*>(before & ~<size_t>1))


cdef inline int _put(char* target, Step* step, object value) except -1:
    cdef PyObject** place = <PyObject**>(target + step.place)
    cdef PyObject* before = place[0]
    if step.packed:
        return _put_number(target, step, PyLong_AsLongLong(<PyObject*>value))
    Py_INCREF(value)
    place[0] = <PyObject*>value
    # A tagged field replaces its default.
    Py_XDECREF(before)
    return 0


cdef int _read_tagged(Plan plan, Reader* reader, char* target) except -1:
    cdef int64_t count = _read_uvarint(reader)
    cdef int64_t tag, size
    cdef const uint8_t* stop
    cdef int index
    if count == 0:
        return 0
    if count * 2 > reader.end - reader.at:
        _refuse_size("tagged fields", count, reader.end - reader.at)
    while count > 0:
        count -= 1
        tag = _read_uvarint(reader)
        size = _read_uvarint(reader)
        if size > reader.end - reader.at:
            _refuse_size("a tagged field", size, reader.end - reader.at)
        stop = reader.at + size
        for index in range(plan.inline_count, plan.present_count):
            if plan.steps[index].tag == tag:
                _put(target, &plan.steps[index], _read_value(&plan.steps[index], plan.steps[index].code, reader))
                if reader.at != stop:
                    _refuse_size(<object>plan.steps[index].name, size, stop - reader.at)
                break
        # Whoever does not know a tag skips it (KIP-482).
        reader.at = stop
    return 0


cdef object _read_value(Step* step, Code code, Reader* reader):
    cdef const uint8_t* at = reader.at
    if code == STRING:
        return _read_string(step, reader)
    if code == INT32:
        _need(reader, 4)
        return PyLong_FromLong(<int32_t>_big_endian_4(at))
    if code == INT64:
        _need(reader, 8)
        return PyLong_FromLongLong(<int64_t>_big_endian_8(at))
    if code == INT16:
        _need(reader, 2)
        return PyLong_FromLong(<int16_t>_big_endian_2(at))
    if code == INT8:
        _need(reader, 1)
        return PyLong_FromLong(<int8_t>at[0])
    if code == ARRAY:
        return _read_array(step, reader)
    if code == STRUCT:
        return _read_nested(step, reader)
    if code == BYTES or code == RECORDS:
        return _read_bytes(step, code, reader)
    if code == BOOL:
        _need(reader, 1)
        return True if at[0] else False
    if code == UUID:
        _need(reader, 16)
        return PyBytes_FromStringAndSize(<const char*>at, 16)
    if code == UINT16:
        _need(reader, 2)
        return PyLong_FromLong(_big_endian_2(at))
    if code == UINT32:
        _need(reader, 4)
        return PyLong_FromLongLong(_big_endian_4(at))
    _need(reader, 8)
    return _read_float(at)


cdef inline int64_t _read_integer(Code code, Reader* reader) except? -1:
    """The same as `_read_value` for what is no object in a compiled class."""
    cdef const uint8_t* at = reader.at
    if code == INT32:
        _need(reader, 4)
        return <int32_t>_big_endian_4(at)
    if code == INT64:
        _need(reader, 8)
        return <int64_t>_big_endian_8(at)
    if code == INT16:
        _need(reader, 2)
        return <int16_t>_big_endian_2(at)
    if code == INT8:
        _need(reader, 1)
        return <int8_t>at[0]
    if code == UINT16:
        _need(reader, 2)
        return _big_endian_2(at)
    _need(reader, 4)
    return _big_endian_4(at)


cdef inline int _need(Reader* reader, Py_ssize_t size) except -1:
    """Take `size` bytes, if they are there."""
    if size > reader.end - reader.at:
        raise IndexError(
            f"{size} bytes are needed at byte {reader.at - reader.start}, where {reader.end - reader.at} are left"
        )
    reader.at += size
    return 0


cdef inline uint16_t _big_endian_2(const uint8_t* at) noexcept:
    return <uint16_t>((at[0] << 8) | at[1])


cdef inline uint32_t _big_endian_4(const uint8_t* at) noexcept:
    return (<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3]


cdef inline uint64_t _big_endian_8(const uint8_t* at) noexcept:
    return (<uint64_t>_big_endian_4(at) << 32) | _big_endian_4(at + 4)


cdef object _read_float(const uint8_t* at):
    cdef uint64_t bits = _big_endian_8(at)
    cdef double number
    memcpy(&number, &bits, 8)
    return PyFloat_FromDouble(number)


cdef inline int64_t _read_uvarint(Reader* reader) except -1:
    cdef const uint8_t* start = reader.at
    cdef uint64_t value
    cdef int shift
    _need(reader, 1)
    if start[0] < 128:
        return start[0]
    value = start[0] & 0x7F
    for shift in range(7, 35, 7):
        _need(reader, 1)
        value |= <uint64_t>((reader.at - 1)[0] & 0x7F) << shift
        if (reader.at - 1)[0] < 128:
            return <int64_t>value
    return _refuse_uvarint(start - reader.start)


cdef inline int _read_size(Step* step, bint is_string, Reader* reader, int64_t* size) except -1:
    """A length or count, below 0 for null."""
    cdef const uint8_t* at = reader.at
    if step.compact:
        size[0] = _read_uvarint(reader) - 1
    elif is_string:
        _need(reader, 2)
        size[0] = <int16_t>_big_endian_2(at)
    else:
        _need(reader, 4)
        size[0] = <int32_t>_big_endian_4(at)
    return 0


cdef object _read_string(Step* step, Reader* reader):
    cdef int64_t size
    _read_size(step, True, reader, &size)
    if size < 0:
        return _read_null(step)
    if size > reader.end - reader.at:
        _refuse_size(<object>step.name, size, reader.end - reader.at)
    reader.at += size
    return PyUnicode_DecodeUTF8(<const char*>reader.at - size, size, NULL)


cdef object _read_bytes(Step* step, Code code, Reader* reader):
    cdef int64_t size
    cdef Py_ssize_t position
    _read_size(step, False, reader, &size)
    if size < 0:
        return _read_null(step)
    if size > reader.end - reader.at:
        _refuse_size(<object>step.name, size, reader.end - reader.at)
    position = reader.at - reader.start
    reader.at += size
    if code == BYTES:
        return PyBytes_FromStringAndSize(<const char*>reader.start + position, size)
    source = <object>reader.source
    view = source if PyMemoryView_Check(source) else PyMemoryView_FromObject(source)
    return view[position : position + size]


cdef object _read_array(Step* step, Reader* reader):
    cdef int64_t count, index
    cdef list found
    cdef Plan plan
    cdef Code code = step.element
    _read_size(step, False, reader, &count)
    if count < 0:
        return _read_null(step)
    if count * step.smallest > reader.end - reader.at:
        _refuse_size(<object>step.name, count, reader.end - reader.at)
    if count > MOST_AT_ONCE:
        return _read_long_array(step, count, reader)
    found = PyList_New(count)
    plan = <Plan>step.plan if code == STRUCT else None
    for index in range(count):
        value = _read_struct(plan, reader) if code == STRUCT else _read_element(step, reader)
        Py_INCREF(value)
        PyList_SET_ITEM(found, index, value)
    return found


cdef list _read_long_array(Step* step, int64_t count, Reader* reader):
    cdef list found = []
    while count > 0:
        found.append(_read_struct(<Plan>step.plan, reader) if step.element == STRUCT else _read_element(step, reader))
        count -= 1
    return found


cdef object _read_element(Step* step, Reader* reader):
    value = _read_value(step, step.element, reader)
    if value is None:
        # An array may be null, but what is in it may not.
        _refuse_null(<object>step.name)
    return value


cdef object _read_nested(Step* step, Reader* reader):
    if step.nullable:
        _need(reader, 1)
        if <int8_t>(reader.at - 1)[0] < step.least_present:
            return None
    return _read_struct(<Plan>step.plan, reader)


cdef object _read_null(Step* step):
    if not step.nullable:
        _refuse_null(<object>step.name)
    return None


# The words for what is refused are those of the plain codec, and looked up where nothing is in a hurry.


cdef int _refuse_null(str name) except -1:
    from tidelog.protocol.codec import null_refused

    raise null_refused(name)


cdef int _refuse_size(str name, int64_t size, int64_t left) except -1:
    from tidelog.protocol.codec import size_refused

    raise size_refused(name, size, left)


cdef int64_t _refuse_uvarint(Py_ssize_t position) except -1:
    from tidelog.protocol.codec import uvarint_refused

    raise uvarint_refused(position)


# ----------------------------------------------------------------------------------------------------------------------
# Encoding.

cdef struct Writer:
    uint8_t* data
    Py_ssize_t used
    Py_ssize_t room
    # Buffers of at least so many bytes are not copied: `kept` has each of them behind the position that it belongs to.
    Py_ssize_t keep_from
    Py_ssize_t kept_bytes
    PyObject* kept
    uint8_t first[FIRST_ROOM]


def encode(message, version):
    """The bytes of `message` in `version`."""
    cdef Writer writer
    cdef list kept = []
    _begin(&writer, kept, COPY_ONCE_FROM)
    try:
        _write_struct(_plan_of_message(type(message), version), message, &writer)
        if kept:
            return b"".join(_pieces(&writer))
        return PyBytes_FromStringAndSize(<const char*>writer.data, writer.used)
    finally:
        _end(&writer)


def encode_frame(message, version, bytes head, Py_ssize_t keep_from):
    """The length of the whole, the header `head` and the bytes of `message`, in pieces.

    Buffers of at least `keep_from` bytes are pieces of their own, and are not copied; unread bytes are so in any case.
    """
    cdef Writer writer
    cdef list kept = []
    cdef Py_ssize_t size
    _begin(&writer, kept, keep_from)
    try:
        _write_number(&writer, 0, 4)
        _write_raw(&writer, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        _write_struct(_plan_of_message(type(message), version), message, &writer)
        size = writer.used + writer.kept_bytes - 4
        if size > INT_MAX:
            raise StructError(f"a frame of {size} bytes is larger than its length can say")
        _store(writer.data, size, 4)
        return _pieces(&writer)
    finally:
        _end(&writer)


cdef void _begin(Writer* writer, list kept, Py_ssize_t keep_from) noexcept:
    """`kept` is the caller's, and lives as long as the writer."""
    writer.data = writer.first
    writer.used = 0
    writer.room = FIRST_ROOM
    writer.keep_from = keep_from
    writer.kept_bytes = 0
    writer.kept = <PyObject*>kept


cdef void _end(Writer* writer) noexcept:
    if writer.data != writer.first:
        PyMem_Free(writer.data)


cdef list _pieces(Writer* writer):
    cdef list pieces = []
    cdef list kept = <list>writer.kept
    cdef Py_ssize_t begin = 0, end, index
    for index in range(0, len(kept), 2):
        end = kept[index]
        if end > begin:
            pieces.append(PyBytes_FromStringAndSize(<const char*>writer.data + begin, end - begin))
        pieces.append(kept[index + 1])
        begin = end
    if writer.used > begin:
        pieces.append(PyBytes_FromStringAndSize(<const char*>writer.data + begin, writer.used - begin))
    return pieces


cdef int _write_struct(Plan plan, object message, Writer* writer) except -1:
    cdef bint is_laid_out = plan.is_laid_out and Py_TYPE(message) == <PyTypeObject*>plan.kind
    cdef int index
    for index in range(plan.inline_count):
        value = _attribute(&plan.steps[index], message, is_laid_out)
        _write_value(&plan.steps[index], plan.steps[index].code, value, writer)
    if plan.flexible:
        _write_tagged(plan, message, is_laid_out, writer)
    return 0


cdef inline object _attribute(Step* step, object message, bint is_laid_out):
    cdef PyObject* found
    cdef size_t word
    if is_laid_out and step.packed:
        word = (<size_t*>(<char*><PyObject*>message + step.place))[0]
        # 1 alone is what nothing has been put into.
        if not word & 1:
            return PyLong_FromLongLong(<int64_t>word >> 1)
    elif is_laid_out:
        found = (<PyObject**>(<char*><PyObject*>message + step.place))[0]
        if found != NULL:
            return <object>found
    return PyObject_GetAttr(message, <object>step.name)


cdef int _write_tagged(Plan plan, object message, bint is_laid_out, Writer* writer) except -1:
    cdef Py_ssize_t count_at = writer.used, begin
    cdef Py_ssize_t keep_from = writer.keep_from
    cdef uint8_t count = 0
    cdef int index
    cdef Step* step
    _write_number(writer, 0, 1)
    for index in range(plan.inline_count, plan.present_count):
        step = &plan.steps[index]
        value = _attribute(step, message, is_laid_out)
        if not _is_sent(step, value):
            continue
        count += 1
        # The length comes first, so everything of the field must be in one place.
        writer.keep_from = PY_SSIZE_T_MAX
        _write_uvarint(writer, step.tag)
        begin = writer.used
        _write_value(step, step.code, value, writer)
        _insert_size(writer, begin)
    writer.keep_from = keep_from
    writer.data[count_at] = count
    return 0


cdef inline int _is_sent(Step* step, object value) except -1:
    default = <object>step.default
    if default is None:
        return value is not None
    if value is default:
        return False
    if step.code == ARRAY:
        # The default is an empty tuple; an empty list means the same.
        return value is None or len(value) > 0
    return PyObject_RichCompareBool(value, default, Py_NE)


cdef int _insert_size(Writer* writer, Py_ssize_t begin) except -1:
    """Put the number of bytes from `begin` on before them."""
    cdef Py_ssize_t end = writer.used, size = writer.used - begin, width
    _write_uvarint(writer, size)
    width = writer.used - end
    memmove(writer.data + begin + width, writer.data + begin, size)
    writer.used = begin
    _write_uvarint(writer, size)
    writer.used = end + width
    return 0


cdef int _write_value(Step* step, Code code, object value, Writer* writer) except -1:
    if code == STRING:
        return _write_string(step, value, writer)
    if code == INT32:
        return _write_number(writer, _integer(step, value, -0x80000000, 0x7FFFFFFF), 4)
    if code == INT64:
        return _write_number(writer, _integer(step, value, -INT64_MAX - 1, INT64_MAX), 8)
    if code == INT16:
        return _write_number(writer, _integer(step, value, -0x8000, 0x7FFF), 2)
    if code == ARRAY:
        return _write_array(step, value, writer)
    if code == STRUCT:
        return _write_nested(step, value, writer)
    if code == BYTES or code == RECORDS:
        return _write_bytes(step, value, writer)
    if code == INT8:
        return _write_number(writer, _integer(step, value, -0x80, 0x7F), 1)
    if code == BOOL:
        return _write_number(writer, 1 if value else 0, 1)
    if code == UUID:
        return _write_uuid(step, value, writer)
    if code == UINT16:
        return _write_number(writer, _integer(step, value, 0, 0xFFFF), 2)
    if code == UINT32:
        return _write_number(writer, _integer(step, value, 0, 0xFFFFFFFF), 4)
    return _write_float(step, value, writer)


cdef inline int64_t _integer(Step* step, object value, int64_t least, int64_t most) except? -1:
    cdef int64_t number = PyLong_AsLongLong(<PyObject*>value)
    if number == -1 and PyErr_Occurred():
        return _refuse_number(step, value)
    if number < least or number > most:
        raise StructError(f"{<object>step.name} is {value}, where a number from {least} to {most} is needed")
    return number


cdef int64_t _refuse_number(Step* step, object value) except? -1:
    """Raises what `struct` raises in place of the exception that there is."""
    if PyErr_ExceptionMatches(OverflowError):
        PyErr_Clear()
        raise StructError(f"{<object>step.name} is {value!r}, which is too large")
    if PyErr_ExceptionMatches(TypeError):
        PyErr_Clear()
        raise StructError(f"{<object>step.name} is {value!r}, where a number is needed")
    # Of the value itself, whatever it is.
    return -1


cdef int _write_float(Step* step, object value, Writer* writer) except -1:
    cdef double number = PyFloat_AsDouble(<PyObject*>value)
    cdef uint64_t bits
    if number == -1.0 and PyErr_Occurred():
        _refuse_number(step, value)
    memcpy(&bits, &number, 8)
    return _write_number(writer, <int64_t>bits, 8)


cdef int _write_uuid(Step* step, object value, Writer* writer) except -1:
    """Sixteen bytes of what may be longer or shorter, as `struct` does it."""
    cdef const char* data
    cdef Py_ssize_t size
    if PyBytes_Check(value):
        data, size = PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
    elif PyByteArray_Check(value):
        data, size = PyByteArray_AS_STRING(value), PyByteArray_GET_SIZE(value)
    else:
        raise StructError(f"{<object>step.name} is {value!r}, where the bytes of a UUID are needed")
    _reserve(writer, 16)
    memset(writer.data + writer.used, 0, 16)
    memcpy(writer.data + writer.used, data, min(size, 16))
    writer.used += 16
    return 0


cdef int _write_string(Step* step, object value, Writer* writer) except -1:
    cdef Py_ssize_t size
    cdef const char* data
    if value is None:
        return _write_null(step, 2, writer)
    if not PyUnicode_Check(value):
        raise TypeError(f"{<object>step.name} is {value!r}, where a string is needed")
    data = PyUnicode_AsUTF8AndSize(value, &size)
    _write_size(step, size, 2, writer)
    return _write_raw(writer, data, size)


cdef int _write_bytes(Step* step, object value, Writer* writer) except -1:
    cdef Py_buffer memory
    if value is None:
        return _write_null(step, 4, writer)
    if not PyObject_CheckBuffer(value) and isinstance(value, UnreadBytes):
        return _write_size_and_keep(step, value, len(value), writer)
    PyObject_GetBuffer(value, &memory, PyBUF_SIMPLE)
    try:
        if memory.len >= writer.keep_from:
            _write_size_and_keep(step, value, memory.len, writer)
        else:
            _write_size(step, memory.len, 4, writer)
            _write_raw(writer, <const char*>memory.buf, memory.len)
    finally:
        PyBuffer_Release(&memory)
    return 0


cdef int _write_size_and_keep(Step* step, object value, Py_ssize_t size, Writer* writer) except -1:
    _write_size(step, size, 4, writer)
    (<list>writer.kept).append(writer.used)
    (<list>writer.kept).append(value)
    writer.kept_bytes += size
    return 0


cdef int _write_array(Step* step, object value, Writer* writer) except -1:
    cdef Py_ssize_t count, index
    cdef Plan plan
    if value is None:
        return _write_null(step, 4, writer)
    count = len(value)
    if not (PyList_CheckExact(value) or PyTuple_CheckExact(value)):
        value = list(value)
    _write_size(step, count, 4, writer)
    plan = <Plan>step.plan if step.element == STRUCT else None
    for index in range(count):
        if index >= PySequence_Fast_GET_SIZE(value):
            raise RuntimeError(f"{<object>step.name} became shorter while it was written")
        element = <object>PySequence_Fast_GET_ITEM(value, index)
        if step.element == STRUCT:
            _write_struct(plan, element, writer)
        elif element is None and (step.element == STRING or step.element == BYTES or step.element == RECORDS):
            # An array may be null, but what is in it may not.
            _refuse_none(step)
        else:
            _write_value(step, step.element, element, writer)
    return 0


cdef int _write_nested(Step* step, object value, Writer* writer) except -1:
    if step.nullable:
        if value is None:
            return _write_number(writer, step.absent, 1)
        _write_number(writer, 1, 1)
    return _write_struct(<Plan>step.plan, value, writer)


cdef int _write_null(Step* step, int width, Writer* writer) except -1:
    if not step.nullable:
        _refuse_none(step)
    return _write_number(writer, 0, 1) if step.compact else _write_number(writer, -1, width)


cdef int _refuse_none(Step* step) except -1:
    from tidelog.protocol.codec import none_refused

    raise none_refused(<object>step.name)


cdef int _write_size(Step* step, Py_ssize_t size, int width, Writer* writer) except -1:
    """A length or count: of strings two bytes wide, otherwise four."""
    if step.compact:
        return _write_uvarint(writer, <uint64_t>size + 1)
    if size > (INT16_MAX if width == 2 else INT_MAX):
        raise StructError(f"{<object>step.name} has {size} bytes or elements, more than its length can say")
    return _write_number(writer, size, width)


cdef int _write_uvarint(Writer* writer, uint64_t value) except -1:
    _reserve(writer, 10)
    while value >= 128:
        writer.data[writer.used] = <uint8_t>(value & 0x7F | 0x80)
        writer.used += 1
        value >>= 7
    writer.data[writer.used] = <uint8_t>value
    writer.used += 1
    return 0


cdef inline int _write_number(Writer* writer, int64_t number, int width) except -1:
    _reserve(writer, 8)
    _store(writer.data + writer.used, number, width)
    writer.used += width
    return 0


cdef inline void _store(uint8_t* at, int64_t number, int width) noexcept:
    cdef uint64_t bits = <uint64_t>number
    cdef int index
    for index in range(width):
        at[index] = <uint8_t>(bits >> (8 * (width - 1 - index)))


cdef int _write_raw(Writer* writer, const char* data, Py_ssize_t size) except -1:
    _reserve(writer, size)
    memcpy(writer.data + writer.used, data, size)
    writer.used += size
    return 0


cdef inline int _reserve(Writer* writer, Py_ssize_t size) except -1:
    if size > writer.room - writer.used:
        _grow(writer, size)
    return 0


cdef int _grow(Writer* writer, Py_ssize_t size) except -1:
    cdef Py_ssize_t room = max(2 * writer.room, writer.used + size)
    cdef uint8_t* data
    if writer.data == writer.first:
        data = <uint8_t*>PyMem_Malloc(room)
        if data != NULL:
            memcpy(data, writer.first, writer.used)
    else:
        data = <uint8_t*>PyMem_Realloc(writer.data, room)
    if data == NULL:
        raise MemoryError()
    writer.data = data
    writer.room = room
    return 0
