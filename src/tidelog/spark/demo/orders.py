"""The orders of the demonstration, and what the pipeline has to make of them. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

CUSTOMERS = 97


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    number: int
    customer: str
    price: int
    quantity: int

    @property
    def key(self) -> bytes:
        return self.customer.encode()

    @property
    def value(self) -> bytes:
        document = {"id": self.number, "price": self.price, "quantity": self.quantity}
        return json.dumps(document).encode()


def make_orders(count: int) -> Iterator[Order]:
    """The same orders each time: what goes wrong should go wrong again."""
    for number in range(count):
        yield Order(
            number=number,
            customer=f"customer-{number * 31 % CUSTOMERS}",
            price=100 + number * 7919 % 9900,
            quantity=1 + number % 5,
        )


def expected_result(order_value: bytes) -> bytes:
    """What the output has to hold for a value of the input."""
    order = json.loads(order_value)
    document = {"id": order["id"], "total": order["price"] * order["quantity"]}
    return json.dumps(document, separators=(",", ":")).encode()


def total_of(result_value: bytes) -> int:
    return int(json.loads(result_value)["total"])
