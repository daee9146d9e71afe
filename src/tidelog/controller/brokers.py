"""Decides what becomes of brokers: registration, fencing, controlled shutdown, removal.

Which broker has missed its heartbeats is known to the active controller's runtime, not to the image; it calls
`fence_broker` then.
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.controller.decision import Decision
from tidelog.controller.directories import lost_replicas
from tidelog.controller.elections import UncleanAllowed, with_broker, without_broker
from tidelog.metadata.image import BrokerImage, ClusterImage
from tidelog.metadata.records import ELIGIBLE_LEADER_REPLICAS_FEATURE, METADATA_VERSION_FEATURE
from tidelog.metadata.replay import FENCE, START_CONTROLLED_SHUTDOWN, UNFENCE, apply
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from tidelog.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from tidelog.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from tidelog.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from tidelog.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from tidelog.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from tidelog.protocol.schema import Message

# The first hundred directory ids are kept for meanings of their own (KIP-858).
_RESERVED_DIRECTORIES = 100


def register_broker(
    image: ClusterImage,
    request: BrokerRegistrationRequest,
    *,
    next_offset: int,
    session_alive: bool,
    unclean: UncleanAllowed,
    absent: Collection[int] = (),
) -> Decision[BrokerRegistrationResponse]:
    """Register a broker that starts. It stays fenced until its heartbeats show that it has caught up.

    The epoch of a new incarnation is the offset of its record, so that it grows with every registration and says how
    far the broker must have read to know itself; `next_offset` is where the metadata log goes on. `session_alive`
    says that another process with this number still sends heartbeats. `absent` are brokers that have not been heard
    from for a while, although their sessions have not ended.
    """
    existing = image.brokers.get(request.broker_id)
    same_process = existing is not None and existing.incarnation_id == request.incarnation_id
    code = _registration_problem(image, request)
    if code is ErrorCode.NONE and existing is not None and session_alive and not same_process:
        code = ErrorCode.DUPLICATE_BROKER_REGISTRATION
    if code is not ErrorCode.NONE:
        return Decision(records=(), reply=BrokerRegistrationResponse(error_code=code))
    records: list[Message] = []
    if existing is not None and not same_process:
        for other in _doubtful(image, existing, request, absent):
            fencing = fence_broker(image, other, unclean=unclean).records
            records.extend(fencing)
            image = apply(image, fencing)[0]
        # Only one that ended in order knows the epoch of its last registration (KIP-966).
        crashed = request.previous_broker_epoch != existing.epoch
        if existing.active or (crashed and image.features.get(ELIGIBLE_LEADER_REPLICAS_FEATURE, 0)):
            # Perhaps the last process died without being fenced. Its leaderships end here, so that the new one gets
            # them with a new leader epoch: what it had not flushed may be lost, and readers must be able to notice.
            records.extend(without_broker(image, request.broker_id, unclean, crashed=crashed))
        records.extend(lost_replicas(image, existing, request.log_dirs))
    epoch = existing.epoch if existing is not None and same_process else next_offset + len(records)
    records.append(_registration_record(request, epoch, existing if same_process else None))
    return Decision(records=tuple(records), reply=BrokerRegistrationResponse(broker_epoch=epoch))


def is_at(broker: BrokerImage, request: BrokerRegistrationRequest) -> bool:
    """Whether the one that registers listens exactly where the broker does."""
    wanted = {(each.name, each.host, each.port) for each in request.listeners}
    return wanted == {(each.listener, each.host, each.port) for each in broker.endpoints}


def _doubtful(
    image: ClusterImage, broker: BrokerImage, request: BrokerRegistrationRequest, absent: Collection[int]
) -> list[int]:
    """Absent brokers that would be left as the only ones in sync if this one, which has crashed, leaves an in-sync set.

    All of them had everything when they died. This one is back with its directories; whether the others will be, nobody
    knows, and one that comes back with an empty disk must not be the last one in sync. So they leave first.
    """
    if not absent or not set(broker.directories) <= {Uuid(bytes(directory)) for directory in request.log_dirs}:
        return []
    doubtful: set[int] = set()
    for _, _, partition in image.all_partitions():
        others = set(partition.isr) - {broker.id}
        if broker.id in partition.isr and others and others <= set(absent):
            doubtful |= others
    return sorted(each for each in doubtful if each in image.brokers and not image.brokers[each].fenced)


def _registration_problem(image: ClusterImage, request: BrokerRegistrationRequest) -> ErrorCode:
    if request.cluster_id != image.cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    directories = list(request.log_dirs)
    reserved = any(int.from_bytes(directory, "big") < _RESERVED_DIRECTORIES for directory in directories)
    if not directories or reserved or len(set(directories)) != len(directories):
        return ErrorCode.INVALID_REGISTRATION
    for broker in image.brokers.values():
        if broker.id != request.broker_id and set(broker.directories) & set(directories):
            return ErrorCode.INVALID_REGISTRATION
    supported = {feature.name: feature for feature in request.features}
    for name, level in image.features.items():
        feature = supported.get(name)
        low, high = (feature.min_supported_version, feature.max_supported_version) if feature else (0, 0)
        if feature is None and name == METADATA_VERSION_FEATURE:
            low = high = 1
        if not low <= level <= high:
            return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.NONE


def _registration_record(
    request: BrokerRegistrationRequest, epoch: int, amended: BrokerImage | None
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=tuple(
            BrokerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ),
        features=tuple(
            BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ),
        rack=request.rack,
        fenced=amended.fenced if amended is not None else True,
        in_controlled_shutdown=amended.in_controlled_shutdown if amended is not None else False,
        log_dirs=tuple(request.log_dirs),
    )


def fence_broker(image: ClusterImage, broker: int, *, unclean: UncleanAllowed) -> Decision[None]:
    """Take a broker for dead: nobody is sent to it any more."""
    registered = image.brokers[broker]
    records: list[Message] = list(without_broker(image, broker, unclean))
    records.append(BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=registered.epoch, fenced=FENCE))
    return Decision(records=tuple(records), reply=None)


def unfence_broker(image: ClusterImage, broker: int, *, unclean: UncleanAllowed) -> Decision[None]:
    """A broker has caught up with the metadata log and may serve."""
    registered = image.brokers[broker]
    records: list[Message] = [
        BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=registered.epoch, fenced=UNFENCE)
    ]
    records.extend(with_broker(image, broker, unclean))
    return Decision(records=tuple(records), reply=None)


def begin_controlled_shutdown(image: ClusterImage, broker: int, *, unclean: UncleanAllowed) -> Decision[None]:
    """A broker wants to stop: its leaderships move while it still serves, so that clients only see a redirect."""
    registered = image.brokers[broker]
    records: list[Message] = []
    if not registered.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker,
                broker_epoch=registered.epoch,
                in_controlled_shutdown=START_CONTROLLED_SHUTDOWN,
            )
        )
    records.extend(without_broker(image, broker, unclean))
    return Decision(records=tuple(records), reply=None)


def unregister_broker(
    image: ClusterImage, request: UnregisterBrokerRequest, *, unclean: UncleanAllowed
) -> Decision[UnregisterBrokerResponse]:
    """Forget a broker that will not come back. Its replicas stay assigned to it until they are moved."""
    registered = image.brokers.get(request.broker_id)
    if registered is None:
        reply = UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message=f"broker {request.broker_id} is not registered",
        )
        return Decision(records=(), reply=reply)
    records: list[Message] = list(without_broker(image, request.broker_id, unclean))
    records.append(UnregisterBrokerRecord(broker_id=request.broker_id, broker_epoch=registered.epoch))
    return Decision(records=tuple(records), reply=UnregisterBrokerResponse(error_message=None))
