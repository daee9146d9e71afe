"""The compiled loops and the plain ones: the same answers, and the right one is chosen."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from array import array
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidelog
from tidelog.records import column_loops, decoding, encoding, hashing, implementation, row_digest
from tidelog.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from tidelog.records.record import NewRecord, Record, encode_batch

SHOW = "from tidelog.records import implementation as i; print(i.COMPILED, i.REASON)"
SAME_TESTS = ("test_record.py", "test_columns.py", "test_spans.py", "test_validation.py", "test_timestamp_search.py")


def twin(module: ModuleType) -> ModuleType:
    """The compiled one, which is not there where no C compiler was."""
    if not implementation.COMPILED:
        pytest.skip(f"runs plain Python: {implementation.REASON}")
    return import_module(f"tidelog.records.native.{module.__name__.rpartition('.')[2]}")


def run(*command: str, path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name != implementation.SWITCH}
    if path is not None:
        settings["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, *command],
        env={**settings, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


# The same answers


def answer(module: ModuleType, header: BatchHeader, payload: bytes) -> list[Record] | str:
    try:
        found: list[Record] = module.decode_records(Record, header, payload)
    except CorruptBatch:
        return "corrupt"
    return found


@given(st.data())
def test_both_say_the_same_about_damaged_records(data: st.DataObject) -> None:
    compiled = twin(decoding)
    records: list[NewRecord] = [
        (index**4, b"key" if index % 2 else None, b"v" * index * 9, (("h", b"x"),) if index % 3 else ())
        for index in range(data.draw(st.integers(1, 30)))
    ]
    batch = encode_batch(records, base_offset=data.draw(st.integers(0, 2**62)))
    payload = bytearray(batch[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(0, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(payload)))
    damaged = bytes(payload[:cut] if data.draw(st.booleans()) else payload)

    assert answer(compiled, parse_header(batch), damaged) == answer(decoding, parse_header(batch), damaged)


@given(payload=st.binary(max_size=60), count=st.integers(0, 5), base_timestamp=st.integers(-(2**63), 2**63 - 1))
def test_both_say_the_same_about_any_bytes(payload: bytes, count: int, base_timestamp: int) -> None:
    compiled = twin(decoding)
    header = parse_header(encode_batch([(0, b"k", b"v", ())]))._replace(
        record_count=count, last_offset_delta=50, base_timestamp=base_timestamp
    )

    assert answer(compiled, header, payload) == answer(decoding, header, payload)


@pytest.mark.parametrize("size", range(1, 12))
def test_numbers_without_an_end_are_not_read_beyond_the_payload(size: int) -> None:
    compiled = twin(decoding)
    header = parse_header(encode_batch([(0, b"k", b"v", ())]))
    body = b"\x00" + b"\xff" * size
    for payload in (bytes([2 * len(body)]) + body, b"\x00" * 7 + b"\xff" * size):
        assert answer(compiled, header, payload) == answer(decoding, header, payload) == "corrupt"


def test_a_timestamp_that_does_not_fit_wraps_as_in_java() -> None:
    batch = encode_batch([(2**62, None, b"", ()), (2**62 + 10, None, b"", ())])
    header = parse_header(batch)._replace(base_timestamp=2**63 - 5)

    for module in (decoding, twin(decoding)):
        records = module.decode_records(Record, header, batch[HEADER_SIZE:])
        assert [record.timestamp for record in records] == [2**63 - 5, -(2**63) + 5]


payloads = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)


@given(st.lists(st.tuples(st.integers(-1, 2**50), payloads, payloads, headers), min_size=1, max_size=40))
def test_both_write_the_same_bytes(records: list[NewRecord]) -> None:
    deltas = [3 * index for index in range(len(records))]
    compiled = twin(encoding)

    for offset_deltas in (None, deltas):
        expected = encoding.encode_records(records, records[0][0], offset_deltas)
        assert compiled.encode_records(records, records[0][0], offset_deltas) == expected


@given(st.binary(max_size=70))
def test_both_hash_keys_alike(key: bytes) -> None:
    assert twin(hashing).murmur2(key) == hashing.murmur2(key)


@given(
    st.lists(st.none() | st.binary(max_size=200), max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=20, max_size=20),
    st.integers(0, 2**64 - 1),
)
def test_both_give_rows_the_same_digest(values: list[bytes | None], numbers: list[int], seed: int) -> None:
    found = []
    for module, shift in itertools.product((row_digest, twin(row_digest)), range(9)):
        states = memoryview(bytearray(seed.to_bytes(8, "little") * len(values))).cast("Q")
        lengths = [-1 if value is None else len(value) for value in values]
        starts = [shift + sum(map(len, filter(None, values[:row]))) for row in range(len(values))]
        # At every place within a word.
        data = bytes(shift) + b"".join(value or b"" for value in values)
        words = memoryview(data)[: len(data) & ~7].cast("Q")
        module.mix_fields(_int32(starts), _int32(lengths), memoryview(data), words, len(values), states)
        module.mix_numbers(memoryview(array("q", numbers)), len(values), states)
        totals = memoryview(array("Q", [seed, 2**64 - 1]))
        module.add_up(states, len(values), totals)
        found.append((list(states), list(totals)))

    assert all(one == found[0] for one in found)


def _int32(numbers: list[int]) -> memoryview:
    return memoryview(array("i", numbers))


def test_properties_hold_on_a_busy_machine_as_well() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_the_other_implementation_passes_the_same_tests() -> None:
    twin(column_loops)
    here = Path(__file__).parent

    done = run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *(str(here / name) for name in SAME_TESTS),
        TIDELOG_PURE_PYTHON="1",
    )

    assert done.returncode == 0, done.stdout[-3000:]


# The choice


@pytest.fixture
def copied_package(tmp_path: Path) -> Path:
    """The part of tidelog that the records need, to be changed freely."""
    source = Path(tidelog.__file__).parent
    target = tmp_path / "tidelog"
    target.mkdir()
    for name in ("__init__.py", "hot_path.py", "version.py"):
        shutil.copy(source / name, target)
    for name in ("model", "records"):
        shutil.copytree(source / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_plain_python_can_be_asked_for() -> None:
    assert run("-c", SHOW, TIDELOG_PURE_PYTHON="1").stdout == "False TIDELOG_PURE_PYTHON is set\n"


def test_a_fresh_twin_is_used(copied_package: Path) -> None:
    twin(decoding)

    assert run("-c", SHOW, path=copied_package).stdout == "True \n"


@pytest.mark.parametrize("changed", ["hashing.py", "hashing.pxd"])
def test_a_twin_of_another_source_is_not_used(copied_package: Path, changed: str) -> None:
    twin(decoding)
    with (copied_package / "tidelog" / "records" / changed).open("a") as file:
        file.write("# changed\n")

    done = run("-c", SHOW, path=copied_package)

    assert done.stdout.startswith("False the compiled codec was built from another source (hashing)")


def test_without_a_twin_plain_python_is_used(copied_package: Path) -> None:
    for built in (copied_package / "tidelog" / "records" / "native").glob("*.so"):
        built.unlink()

    assert run("-c", SHOW, path=copied_package).stdout.startswith("False no compiled codec has been built")


def test_a_twin_that_cannot_be_loaded_is_not_used(copied_package: Path) -> None:
    twin(decoding)
    for built in (copied_package / "tidelog" / "records" / "native").glob("*.so"):
        built.write_bytes(b"not a library")

    assert run("-c", SHOW, path=copied_package).stdout.startswith("False the compiled codec cannot be loaded")
