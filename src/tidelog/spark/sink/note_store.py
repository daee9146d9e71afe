"""Notes on the cluster: the topic that their offsets belong to, and reading what was committed last.

The topic holds no records. It is there because Kafka takes offsets only for topics that exist, and it is a topic of its
own so that nobody's retention, deletion or reset of offsets touches it by accident.
"""

from __future__ import annotations

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.offsets.committed import OffsetAndMetadata, fetch_committed
from tidelog.client.producer.producer import Producer
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.spark.sink.note import NOTE_PARTITION, Note, read_note
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.topics import create_topic


def note_partition(options: SinkOptions) -> TopicPartition:
    return TopicPartition(options.note_topic, NOTE_PARTITION)


async def fetch_noted(cluster: Cluster, options: SinkOptions, group: str) -> OffsetAndMetadata | None:
    """What the group has committed last. Waits until no transaction can change it any more."""
    partition = note_partition(options)
    return (await fetch_committed(cluster, group, (partition,), require_stable=True)).get(partition)


async def fetch_note(cluster: Cluster, options: SinkOptions, group: str) -> Note | None:
    found = await fetch_noted(cluster, options, group)
    return None if found is None else read_note(found.offset, found.metadata)


async def send_note(producer: Producer, options: SinkOptions, note: Note, group: str) -> None:
    """Into the open transaction."""
    position = OffsetAndMetadata(offset=note.batch, metadata=note.metadata())
    await producer.send_offsets({note_partition(options): position}, group)


async def ensure_note_topic(cluster: Cluster, options: SinkOptions) -> None:
    """Create the topic if it is missing; two drivers may do so at once."""
    topic = options.note_topic
    metadata = await cluster.retry("looking up the note topic", lambda: cluster.fetch_metadata((topic,)))
    if topic in metadata.topics:
        return
    code = metadata.topic_errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise ApiError(code, f"topic {topic!r}")
    await create_topic(options, topic, 1)
