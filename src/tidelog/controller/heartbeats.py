"""What the active controller makes of a broker's heartbeat: unfence it, fence it, let it stop, and take its replicas
in failed log directories out of use.

Sessions are not in the log: a new controller gives every broker a whole timeout to be heard from, except the one in the
process of its predecessor, whose silence it has watched itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.controller.brokers import begin_controlled_shutdown, fence_broker, unfence_broker
from tidelog.controller.decision import Decision
from tidelog.controller.directories import newly_offline, without_directories
from tidelog.controller.elections import UncleanAllowed
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from tidelog.protocol.schema import Message


class BrokerSessions:
    """When each broker was heard from last, on the controller's own clock."""

    def __init__(self, timeout_ms: float, heartbeat_interval_ms: float) -> None:
        self._timeout_ms = timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._heard_ms: dict[int, float] = {}

    def heard(self, broker_id: int, now_ms: float) -> None:
        self._heard_ms[broker_id] = now_ms

    def forget(self, broker_id: int) -> None:
        self._heard_ms.pop(broker_id, None)

    def is_alive(self, broker_id: int, now_ms: float) -> bool:
        heard = self._heard_ms.get(broker_id)
        return heard is not None and now_ms - heard < self._timeout_ms

    def begin(self, image: ClusterImage, now_ms: float, *, heard_earlier: Mapping[int, float] | None = None) -> None:
        """This node has become the active controller: nobody is late yet.

        `heard_earlier` names nodes that this one has listened to before, and when each was last heard: their sessions
        began then. Even so each gets the time for a first heartbeat, because until now it may have had nobody to
        send one to.
        """
        self._heard_ms = {broker.id: now_ms for broker in image.brokers.values() if not broker.fenced}
        for broker_id, heard_ms in (heard_earlier or {}).items():
            if broker_id in self._heard_ms:
                latest_ms = now_ms - self._timeout_ms + self._heartbeat_interval_ms
                self._heard_ms[broker_id] = min(now_ms, max(heard_ms, latest_ms))

    def next_end_ms(self, image: ClusterImage) -> float:
        """When the first session ends, unless its broker is heard from before; infinite if nobody has one."""
        heard = [self._heard_ms.get(broker.id, 0.0) for broker in image.brokers.values() if not broker.fenced]
        return min(heard, default=float("inf")) + self._timeout_ms

    def silent(self, image: ClusterImage, now_ms: float) -> list[int]:
        """Brokers that serve but have not been heard from for too long."""
        return [
            broker.id for broker in image.brokers.values() if not broker.fenced and not self.is_alive(broker.id, now_ms)
        ]


def heartbeat(
    image: ClusterImage, request: BrokerHeartbeatRequest, *, unclean: UncleanAllowed
) -> Decision[BrokerHeartbeatResponse]:
    """The caller counts the session as alive if the reply has no error."""
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision(records=(), reply=BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    # The epoch is the offset of the broker's registration: who has read that far knows itself.
    caught_up = request.current_metadata_offset >= broker.epoch

    def decision(
        records: tuple[Message, ...] = (), *, fenced: bool, may_stop: bool = False
    ) -> Decision[BrokerHeartbeatResponse]:
        reply = BrokerHeartbeatResponse(is_caught_up=caught_up, is_fenced=fenced, should_shut_down=may_stop)
        return Decision(records=records, reply=reply)

    if request.want_shut_down:
        if broker.fenced:
            return decision(fenced=True, may_stop=True)
        records = begin_controlled_shutdown(image, broker.id, unclean=unclean).records
        # It may go once it leads nothing that somebody else could lead.
        leads = any(partition.leader == broker.id for _, _, partition in image.all_partitions())
        return decision(records, fenced=False, may_stop=not leads and not records)
    offline = newly_offline(broker, request.offline_log_dirs)
    nothing_left = bool(offline) and len(offline) == len(broker.directories)
    if offline and not nothing_left:
        return decision(without_directories(image, broker.id, offline, unclean), fenced=broker.fenced)
    if not broker.fenced and (nothing_left or request.want_fence):
        return decision(fence_broker(image, broker.id, unclean=unclean).records, fenced=True)
    if broker.fenced and not nothing_left and not request.want_fence and caught_up:
        return decision(unfence_broker(image, broker.id, unclean=unclean).records, fenced=False)
    return decision(fenced=broker.fenced)
