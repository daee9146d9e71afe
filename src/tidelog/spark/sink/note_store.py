"""Notes on the cluster: the topic that their offsets belong to, and reading what was committed last.

The topic holds no records. It is there because Kafka takes offsets only for topics that exist, and it is a topic of its
own so that nobody's retention, deletion or reset of offsets touches it by accident.
"""

from __future__ import annotations

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.offsets.committed import fetch_committed
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.spark.sink.note import NOTE_PARTITION, Note, read_note
from tidelog.spark.sink.options import SinkOptions


def note_partition(options: SinkOptions) -> TopicPartition:
    return TopicPartition(options.note_topic, NOTE_PARTITION)


async def fetch_note(cluster: Cluster, options: SinkOptions, group: str) -> Note | None:
    """The note that the group has committed last. Waits until no transaction can change it any more."""
    partition = note_partition(options)
    committed = await fetch_committed(cluster, group, (partition,), require_stable=True)
    found = committed.get(partition)
    return None if found is None else read_note(found.offset, found.metadata)


async def ensure_note_topic(cluster: Cluster, options: SinkOptions) -> None:
    """Create the topic if it is missing; two drivers may do so at once."""
    topic = options.note_topic
    metadata = await cluster.retry("looking up the note topic", lambda: cluster.fetch_metadata((topic,)))
    if topic in metadata.topics:
        return
    code = metadata.topic_errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise ApiError(code, f"topic {topic!r}")
    # Only here: loading it takes longer than a commit should, and nearly always the topic is there.
    from tidelog.client.admin import Admin

    async with Admin(config=options.connection()) as admin:
        try:
            await admin.create_topic(topic, partitions=1)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
