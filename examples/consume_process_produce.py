"""Read records, process them, write the results: each input record counts once in the output. Step by step.

    tidelog up                                  # in another terminal
    tidelog produce --topic orders              # type some lines
    python examples/consume_process_produce.py

The offsets of what was read are committed by the producer, in the transaction that carries the results. This program
shows the steps; `examples/exactly_once_loop.py` does the same with `tidelog.ExactlyOnceLoop`, which also deals with
rebalances, zombies and lost answers.
"""

from __future__ import annotations

import argparse
import asyncio

import tidelog


async def main(
    bootstrap_servers: str, source: str, target: str, group_id: str, transactional_id: str, stop_after: int
) -> None:
    consumer = tidelog.Consumer(
        source,
        bootstrap_servers=bootstrap_servers,
        group_id=group_id,
        # Only what is committed is read, and only the transaction commits offsets.
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = tidelog.Producer(bootstrap_servers, transactional_id=transactional_id)
    async with producer, consumer:
        # 1. Take over the transactional id. Done once for each producer.
        await producer.init_transactions()
        processed = 0
        while processed < stop_after or not stop_after:
            # 2. Read from the source topic.
            records = await consumer.poll(timeout_ms=1_000)
            if not records:
                continue
            # 3. Begin. The coordinator hears of it with the first record.
            await producer.begin_transaction()
            try:
                # 4. Process, and send the results to the target topic.
                for record in records:
                    await producer.send(target, (record.value or b"").upper(), key=record.key)
                # 5. The offsets of the next records to read become part of the transaction.
                offsets = {record.topic_partition: record.offset + 1 for record in records}
                await producer.send_offsets(offsets, consumer.group_metadata())
                # 6. Both become visible at once.
                await producer.commit_transaction()
            except tidelog.AbortableError as error:
                # 6. Or neither does: back to the offsets that are committed.
                print(f"aborted: {error}")
                await producer.abort_transaction()
                committed = await consumer.committed(*offsets_of(records))
                for partition, first in offsets_of(records).items():
                    consumer.seek(partition, committed.get(partition, first))
                continue
            processed += len(records)
            print(f"processed {processed} records")


def offsets_of(records: list[tidelog.ConsumerRecord]) -> dict[tidelog.TopicPartition, int]:
    """Where the records of each partition begin."""
    return {record.topic_partition: record.offset for record in reversed(records)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--source", default="orders")
    parser.add_argument("--target", default="orders-upper")
    parser.add_argument("--group-id", default="upper")
    parser.add_argument("--transactional-id", default="upper-1")
    parser.add_argument("--stop-after", type=int, default=0, metavar="RECORDS", help="0: go on for ever")
    asyncio.run(main(**vars(parser.parse_args())))
