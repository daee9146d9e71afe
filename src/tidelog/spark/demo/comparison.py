"""Is what came out what had to come out? Compares partition by partition. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.spark.demo.orders import expected_result, total_of

# The values of each partition, in order.
Values = Mapping[int, Sequence[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersComparison:
    rows_in: int
    rows_out: int
    missing: int
    duplicates: int
    # Values that nobody asked for.
    foreign: int
    in_order: bool
    sum_expected: int
    sum_found: int

    @property
    def exact(self) -> bool:
        """Each once, nothing else, per partition in order."""
        return self.in_order


def compare(source: Values, output: Values) -> OrdersComparison:
    expected = {partition: [expected_result(value) for value in values] for partition, values in source.items()}
    wanted = Counter(value for values in expected.values() for value in values)
    found = Counter(value for values in output.values() for value in values)
    numbers = expected.keys() | output.keys()
    return OrdersComparison(
        rows_in=wanted.total(),
        rows_out=found.total(),
        missing=(wanted - found).total(),
        duplicates=sum(count - wanted[value] for value, count in found.items() if count > wanted[value] > 0),
        foreign=sum(count for value, count in found.items() if value not in wanted),
        in_order=all(list(expected.get(number, ())) == list(output.get(number, ())) for number in numbers),
        sum_expected=sum(total_of(value) * count for value, count in wanted.items()),
        sum_found=sum(total_of(value) * count for value, count in found.items()),
    )
