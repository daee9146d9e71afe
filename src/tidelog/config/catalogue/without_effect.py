"""Properties of Apache Kafka that tidelog accepts, checks for their type and shows, but has no use for.

They are here so that a server.properties that works with Apache Kafka works here. The server logs those that are set,
and DescribeConfigs and the reference page give the reason. Those that Apache Kafka can change while it runs can be
changed here, too. Properties whose silent loss could hurt (security, plug-ins) are refused instead: see
`tidelog.config.catalogue.refused`.
"""

from __future__ import annotations

from tidelog.config.definitions import ConfigDefinition, ConfigType, ConfigValue, UpdateMode, by_name
from tidelog.config.topic import MAX_LONG

_INT = ConfigType.INT
_SHORT = ConfigType.SHORT
_LONG = ConfigType.LONG
_DOUBLE = ConfigType.DOUBLE
_STRING = ConfigType.STRING
_LIST = ConfigType.LIST
_BOOLEAN = ConfigType.BOOLEAN

# Apache Kafka can change these while it runs.
_DYNAMIC = UpdateMode.IGNORED

Row = tuple[str, ConfigType, ConfigValue] | tuple[str, ConfigType, ConfigValue, UpdateMode]

# By the reason for which they have no effect.
_ROWS: dict[str, tuple[Row, ...]] = {
    "a tidelog node runs on one event loop instead of pools of threads": (
        ("background.threads", _INT, 10, _DYNAMIC),
        ("group.coordinator.background.threads", _INT, 2),
        ("group.coordinator.threads", _INT, 4),
        ("num.io.threads", _INT, 8, _DYNAMIC),
        ("num.network.threads", _INT, 3, _DYNAMIC),
        ("num.recovery.threads.per.data.dir", _INT, 2, _DYNAMIC),
        ("num.replica.alter.log.dirs.threads", _INT, None),
        ("num.replica.fetchers", _INT, 1, _DYNAMIC),
    ),
    "the operating system sizes the buffers for what is received, and up to 1024 new connections may wait": (
        ("replica.socket.receive.buffer.bytes", _INT, 65_536),
        ("socket.listen.backlog.size", _INT, 50),
        ("socket.receive.buffer.bytes", _INT, 102_400),
    ),
    "each attempt to connect waits for socket.connection.setup.timeout.ms": (
        ("socket.connection.setup.timeout.max.ms", _LONG, 30_000),
    ),
    "requests in progress are limited by their bytes, see queued.max.request.bytes": (
        ("queued.max.requests", _INT, 500),
    ),
    "the controller writes records as soon as there are any, and none when it is idle": (
        ("controller.quorum.append.linger.ms", _INT, 25),
        ("metadata.max.idle.interval.ms", _INT, 500),
    ),
    "the first round of background work begins after one interval": (("log.initial.task.delay.ms", _LONG, 30_000),),
    "a broker reports a failed directory with every heartbeat and keeps serving the others": (
        ("log.dir.failure.timeout.ms", _LONG, 30_000),
    ),
    "waiting requests are held by the event loop and need no purging": (
        ("delete.records.purgatory.purge.interval.requests", _INT, 1),
        ("fetch.purgatory.purge.interval.requests", _INT, 1000),
        ("producer.purgatory.purge.interval.requests", _INT, 1000),
        ("share.fetch.purgatory.purge.interval.requests", _INT, 1000),
    ),
    "metrics are served for Prometheus, see tidelog.metrics.port": (
        ("controller.performance.always.log.threshold.ms", _LONG, 2000),
        ("controller.performance.sample.period.ms", _LONG, 60000),
        ("kafka.metrics.polling.interval.secs", _INT, 10),
        ("kafka.metrics.reporters", _LIST, ()),
        ("metric.reporters", _LIST, (), _DYNAMIC),
        ("metrics.num.samples", _INT, 2),
        ("metrics.recording.level", _STRING, "INFO"),
        ("metrics.sample.window.ms", _LONG, 30000),
        ("telemetry.max.bytes", _INT, 1048576),
    ),
    "it controls an internal part of Apache Kafka that tidelog does not have": (
        ("group.coordinator.append.linger.ms", _INT, -1),
        ("group.coordinator.cached.buffer.max.bytes", _INT, 1048588, _DYNAMIC),
        ("internal.metadata.delete.delay.millis", _LONG, 60000),
        ("internal.metadata.max.batch.size.in.bytes", _INT, 8388608),
        ("server.max.startup.time.ms", _LONG, MAX_LONG),
        ("unstable.api.versions.enable", _BOOLEAN, False),
        ("unstable.feature.versions.enable", _BOOLEAN, False),
    ),
    "OpenSSL encrypts, in the place of Java's providers": (
        ("ssl.keymanager.algorithm", _STRING, "SunX509"),
        ("ssl.protocol", _STRING, "TLSv1.3"),
        ("ssl.provider", _STRING, None),
        ("ssl.secure.random.implementation", _STRING, None),
        ("ssl.trustmanager.algorithm", _STRING, "PKIX"),
    ),
    "the names in a new certificate of a node are not compared with those in the old one": (
        ("ssl.allow.dn.changes", _BOOLEAN, False),
        ("ssl.allow.san.changes", _BOOLEAN, False),
    ),
    "tidelog has no Kerberos (GSSAPI)": (
        ("sasl.kerberos.kinit.cmd", _STRING, "/usr/bin/kinit"),
        ("sasl.kerberos.min.time.before.relogin", _LONG, 60000),
        ("sasl.kerberos.principal.to.local.rules", _LIST, ("DEFAULT",)),
        ("sasl.kerberos.service.name", _STRING, None),
        ("sasl.kerberos.ticket.renew.jitter", _DOUBLE, 0.05),
        ("sasl.kerberos.ticket.renew.window.factor", _DOUBLE, 0.8),
    ),
    "tidelog has no share groups": (
        ("group.share.assignment.interval.ms", _INT, 1000, _DYNAMIC),
        ("group.share.assignors", _LIST, ("simple",)),
        ("group.share.delivery.count.limit", _INT, 5),
        ("group.share.heartbeat.interval.ms", _INT, 5000),
        ("group.share.initialize.retry.interval.ms", _INT, 30000),
        ("group.share.max.assignment.interval.ms", _INT, 15000),
        ("group.share.max.delivery.count.limit", _INT, 10),
        ("group.share.max.heartbeat.interval.ms", _INT, 15000),
        ("group.share.max.partition.max.record.locks", _INT, 4000),
        ("group.share.max.record.lock.duration.ms", _INT, 60000),
        ("group.share.max.session.timeout.ms", _INT, 60000),
        ("group.share.max.share.sessions", _INT, 2000),
        ("group.share.max.size", _INT, 200),
        ("group.share.min.assignment.interval.ms", _INT, 0),
        ("group.share.min.delivery.count.limit", _INT, 2),
        ("group.share.min.heartbeat.interval.ms", _INT, 5000),
        ("group.share.min.partition.max.record.locks", _INT, 100),
        ("group.share.min.record.lock.duration.ms", _INT, 15000),
        ("group.share.min.session.timeout.ms", _INT, 45000),
        ("group.share.partition.max.record.locks", _INT, 2000),
        ("group.share.record.lock.duration.ms", _INT, 30000),
        ("group.share.session.timeout.ms", _INT, 45000),
        ("share.coordinator.append.linger.ms", _INT, -1),
        ("share.coordinator.cached.buffer.max.bytes", _INT, 1048588, _DYNAMIC),
        ("share.coordinator.cold.partition.snapshot.interval.ms", _INT, 300000),
        ("share.coordinator.load.buffer.size", _INT, 5242880),
        ("share.coordinator.snapshot.update.records.per.snapshot", _INT, 500),
        ("share.coordinator.state.topic.compression.codec", _INT, 0),
        ("share.coordinator.state.topic.min.isr", _SHORT, 2),
        ("share.coordinator.state.topic.num.partitions", _INT, 50),
        ("share.coordinator.state.topic.prune.interval.ms", _INT, 300000),
        ("share.coordinator.state.topic.replication.factor", _SHORT, 3),
        ("share.coordinator.state.topic.segment.bytes", _INT, 104857600),
        ("share.coordinator.threads", _INT, 1),
        ("share.coordinator.write.timeout.ms", _INT, 5000),
    ),
    "tidelog has no streams groups": (
        ("group.streams.assignment.interval.ms", _INT, 1000, _DYNAMIC),
        ("group.streams.heartbeat.interval.ms", _INT, 5000),
        ("group.streams.initial.rebalance.delay.ms", _INT, 3000),
        ("group.streams.max.assignment.interval.ms", _INT, 15000),
        ("group.streams.max.heartbeat.interval.ms", _INT, 15000),
        ("group.streams.max.session.timeout.ms", _INT, 60000),
        ("group.streams.max.size", _INT, 2147483647),
        ("group.streams.max.standby.replicas", _INT, 2),
        ("group.streams.min.assignment.interval.ms", _INT, 0),
        ("group.streams.min.heartbeat.interval.ms", _INT, 5000),
        ("group.streams.min.session.timeout.ms", _INT, 45000),
        ("group.streams.num.standby.replicas", _INT, 0),
        ("group.streams.session.timeout.ms", _INT, 45000),
    ),
    "tidelog has no tiered storage": (
        ("follower.fetch.last.tiered.offset.enable", _BOOLEAN, False, _DYNAMIC),
        ("remote.fetch.max.wait.ms", _INT, 500, _DYNAMIC),
        ("remote.list.offsets.request.timeout.ms", _LONG, 30000, _DYNAMIC),
        ("remote.log.index.file.cache.total.size.bytes", _LONG, 1073741824, _DYNAMIC),
        ("remote.log.index.file.cache.ttl.ms", _LONG, 900000),
        ("remote.log.manager.copier.thread.pool.size", _INT, 10, _DYNAMIC),
        ("remote.log.manager.copy.max.bytes.per.second", _LONG, MAX_LONG, _DYNAMIC),
        ("remote.log.manager.copy.quota.window.num", _INT, 11),
        ("remote.log.manager.copy.quota.window.size.seconds", _INT, 1),
        ("remote.log.manager.expiration.thread.pool.size", _INT, 10, _DYNAMIC),
        ("remote.log.manager.fetch.max.bytes.per.second", _LONG, MAX_LONG, _DYNAMIC),
        ("remote.log.manager.fetch.quota.window.num", _INT, 11),
        ("remote.log.manager.fetch.quota.window.size.seconds", _INT, 1),
        ("remote.log.manager.follower.thread.pool.size", _INT, 2, _DYNAMIC),
        ("remote.log.manager.task.interval.ms", _LONG, 30000),
        ("remote.log.manager.task.retry.backoff.max.ms", _LONG, 30000),
        ("remote.log.manager.task.retry.backoff.ms", _LONG, 500),
        ("remote.log.manager.task.retry.jitter", _DOUBLE, 0.2),
        ("remote.log.manager.thread.pool.size", _INT, 2),
        ("remote.log.metadata.custom.metadata.max.bytes", _INT, 128),
        ("remote.log.reader.max.pending.tasks", _INT, 100),
        ("remote.log.reader.threads", _INT, 10, _DYNAMIC),
    ),
}

WITHOUT_EFFECT_DEFINITIONS = by_name(
    ConfigDefinition(
        name=name,
        type=kind,
        default=default,
        update_mode=mode[0] if mode else UpdateMode.READ_ONLY,
        ignored_because=reason,
    )
    for reason, rows in _ROWS.items()
    for name, kind, default, *mode in rows
)
