"""The client for programs without asyncio: the same classes, whose calls wait until they are done.

    from tidelog.sync import Producer, Consumer

    with Producer("127.0.0.1:9092") as producer:
        producer.send("greetings", b"hello").result()
    with Consumer("greetings", bootstrap_servers="127.0.0.1:9092", auto_offset_reset="earliest") as consumer:
        for record in consumer:
            print(record.value)

The work is done by `tidelog.client` on an event loop in a background thread, one for all clients of the process. A
client may be used from any thread, one thread at a time for reading. It must not be carried over a fork.

    producer.py    `Producer`: `send` does not wait
    handover.py    its records on their way to the loop's thread, in bulk
    consumer.py    `Consumer`: most calls need nothing of the loop's thread
    read_ahead.py  replies that are lent to the reader's thread, which decodes them
    admin.py       `Admin`
    background.py  the event loop in its thread, and how calls get there and back
"""

from __future__ import annotations

from tidelog.sync.admin import Admin
from tidelog.sync.background import ForkedClient
from tidelog.sync.consumer import Consumer
from tidelog.sync.handover import BlockingDelivery
from tidelog.sync.producer import Producer

__all__ = ["Admin", "BlockingDelivery", "Consumer", "ForkedClient", "Producer"]
