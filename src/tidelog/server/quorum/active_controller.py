"""The active controller: the node that leads the metadata quorum decides for the whole cluster.

One decision at a time: each is made over the committed outcome of the one before, appended, committed, and only then
answered. What to decide is in `tidelog.controller`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import TypeVar

from tidelog.config.broker import BrokerConfig
from tidelog.consensus.effects import Leadership
from tidelog.controller.acls import create_acls, delete_acls, refusal_without_authorizer
from tidelog.controller.bootstrap import INITIAL_FEATURES, bootstrap_records, fresh_uuid
from tidelog.controller.brokers import fence_broker, is_at, register_broker, unregister_broker
from tidelog.controller.client_quotas import alter_client_quotas, named_hosts
from tidelog.controller.configs import alter_configs, incremental_alter_configs
from tidelog.controller.credentials import alter_user_scram_credentials
from tidelog.controller.decision import Decision, MayChange, any_number
from tidelog.controller.directories import assign_replicas
from tidelog.controller.elections import UncleanAllowed, unclean_allowed
from tidelog.controller.features import update_features
from tidelog.controller.heartbeats import BrokerSessions, heartbeat
from tidelog.controller.in_sync import alter_partition
from tidelog.controller.leader_election import balance_leaders, elect_leaders, elect_uncleanly
from tidelog.controller.partitions import create_partitions
from tidelog.controller.producer_ids import allocate_producer_ids
from tidelog.controller.reassignment import alter_partition_reassignments, list_partition_reassignments
from tidelog.controller.topics import create_topics, delete_topics
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import encode_record, metadata_version
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network
from tidelog.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tidelog.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tidelog.protocol.messages.alter_partition_request import AlterPartitionRequest
from tidelog.protocol.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from tidelog.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from tidelog.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from tidelog.protocol.messages.create_acls_request import CreateAclsRequest
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.delete_acls_request import DeleteAclsRequest
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tidelog.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from tidelog.protocol.messages.update_features_request import UpdateFeaturesRequest
from tidelog.protocol.schema import Message
from tidelog.server.quorum.absent_brokers import AbsentBrokers
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.mutations import ControllerMutations, MutationTurn
from tidelog.server.quorum.runtime import QuorumRuntime

logger = logging.getLogger(__name__)

Reply = TypeVar("Reply")

PLACEMENT_STARTS = 1 << 16
# How long a request waits for a newly elected leader to learn what its predecessors committed.
ACTIVATION_SECONDS = 10.0
# Sessions are checked when the first of them ends, but not less and not more often than this.
MOST_SESSION_CHECK_SECONDS = 0.5
LEAST_SESSION_CHECK_SECONDS = 0.02


# What clients ask for. A broker that asks finds out by itself when it has learned the outcome.
_SEEN_AT_ONCE = (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    CreatePartitionsRequest,
    AlterConfigsRequest,
    IncrementalAlterConfigsRequest,
    ElectLeadersRequest,
    AlterPartitionReassignmentsRequest,
    UnregisterBrokerRequest,
    UpdateFeaturesRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    AlterUserScramCredentialsRequest,
    AlterClientQuotasRequest,
)


# Of the image and the request.
Decide = Callable[..., Decision[Message]]


@dataclass(slots=True, kw_only=True, eq=False)
class ActiveController:
    """Exists on every node that votes; acts only while this node leads."""

    quorum: QuorumRuntime
    metadata: MetadataFollower
    config: BrokerConfig
    clock: Clock
    randomness: Randomness
    network: Network
    broker_gone: Callable[[int, int], None]
    mutations: ControllerMutations = field(init=False)
    # What the first controller of a new cluster writes, besides the features.
    first_records: tuple[Message, ...] = ()
    absent_brokers: AbsentBrokers = field(init=False)
    _sessions: BrokerSessions = field(init=False)
    _decisions: Mapping[type[Message], Decide] = field(init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    # The epoch in which this node is the active controller; None while it is not.
    _epoch: int | None = field(default=None, init=False)
    _activation: asyncio.Task[None] | None = field(default=None, init=False)
    _watching: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        config = self.config
        self._sessions = BrokerSessions(config.broker_session_timeout_ms, config.broker_heartbeat_interval_ms)
        self.mutations = ControllerMutations(config, lambda: self.metadata.latest.client_quotas, self.clock)
        self.absent_brokers = AbsentBrokers(
            config=config,
            metadata=self.metadata,
            clock=self.clock,
            network=self.network,
            fence=self._fence_gone,
            gone=self.broker_gone,
        )
        self._decisions = {
            CreateTopicsRequest: self._create_topics,
            DeleteTopicsRequest: self._delete_topics,
            CreatePartitionsRequest: self._create_partitions,
            AlterConfigsRequest: partial(alter_configs, config=config),
            IncrementalAlterConfigsRequest: partial(incremental_alter_configs, config=config),
            AlterPartitionRequest: self._with_elections(alter_partition),
            AssignReplicasToDirsRequest: self._with_elections(assign_replicas),
            ElectLeadersRequest: elect_leaders,
            AlterPartitionReassignmentsRequest: self._with_elections(alter_partition_reassignments),
            ListPartitionReassignmentsRequest: lambda image, request: Decision(
                records=(), reply=list_partition_reassignments(image, request)
            ),
            AllocateProducerIdsRequest: allocate_producer_ids,
            UpdateFeaturesRequest: partial(update_features, min_in_sync=config.topic_defaults().min_insync_replicas),
            CreateAclsRequest: self._create_acls,
            DeleteAclsRequest: self._delete_acls,
            AlterUserScramCredentialsRequest: alter_user_scram_credentials,
            BrokerRegistrationRequest: self._register,
            UnregisterBrokerRequest: self._with_elections(unregister_broker),
        }

    # -- leadership ----------------------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        return self._epoch is not None

    def leadership_changed(self, leadership: Leadership) -> None:
        if self._activation is not None:
            self._activation.cancel()
            self._activation = None
        if leadership.leading_from is None:
            if self._epoch is not None:
                logger.info("this node is no longer the active controller")
            self._epoch = None
            self.absent_brokers.end()
            return
        self._activation = asyncio.create_task(self._activate(leadership, leadership.leading_from))

    async def _activate(self, leadership: Leadership, leading_from: int) -> None:
        """Everything that earlier leaders have committed is known once the first record of this epoch is."""
        await self.quorum.committed(leading_from)
        # A broker and a controller of one id are one process: one that does not fetch sends no heartbeats.
        predecessor = leadership.predecessor
        self._sessions.begin(
            self.metadata.latest,
            self.clock.monotonic_ms(),
            heard_earlier={} if predecessor is None else {predecessor.leader_id: predecessor.heard_ms},
        )
        self._epoch = leadership.epoch
        self.absent_brokers.begin()
        logger.info("this node is the active controller of epoch %d", leadership.epoch)
        if not self.metadata.latest.features:
            first = bootstrap_records(INITIAL_FEATURES, min_in_sync=self.config.topic_defaults().min_insync_replicas)
            await self._decide(lambda image: Decision(records=(*first, *self.first_records), reply=None))
        if not self._watching:
            self._watching = self._start_watching()

    def _start_watching(self) -> list[asyncio.Task[None]]:
        config = self.config
        watching = [
            asyncio.create_task(self._watch_sessions()),
            asyncio.create_task(
                self._elect_at_intervals(
                    config.unclean_leader_election_interval_ms / 1000,
                    lambda image: elect_uncleanly(image, unclean=self._unclean(image)),
                )
            ),
        ]
        if config.auto_leader_rebalance_enable:
            balancing = self._elect_at_intervals(config.leader_imbalance_check_interval_seconds, balance_leaders)
            watching.append(asyncio.create_task(balancing))
        return watching

    async def stop(self) -> None:
        tasks = [*self._watching, *([] if self._activation is None else [self._activation])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.absent_brokers.end()

    # -- requests ------------------------------------------------------------------------------------------------

    async def perform(self, request: Message, turn: MutationTurn | None = None) -> Message:
        """Decide, append, commit, answer. Raises ApiError: NOT_CONTROLLER, or what the disk says.

        `turn` bounds how much may be changed.
        """
        await self.wait_until_active()
        if isinstance(request, DescribeQuorumRequest):
            return self.quorum.describe(request)
        if isinstance(request, BrokerHeartbeatRequest):
            return await self._heartbeat(request)
        decide = self._decisions.get(type(request))
        if isinstance(request, AlterClientQuotasRequest):
            unknown = [host for host in named_hosts(request) if await self.network.address_of(host) is None]
            decide = partial(alter_client_quotas, unknown_hosts=unknown)
        assert decide is not None
        if turn is not None:
            decide = partial(decide, may_change=turn.may_change)
        response = await self._decide(partial(decide, request=request))
        if isinstance(request, _SEEN_AT_ONCE):
            # A client of this node expects to find there what the reply has confirmed.
            await self.metadata.reached(self.metadata.latest.offset)
        if isinstance(request, BrokerRegistrationRequest):
            assert isinstance(response, BrokerRegistrationResponse)
            # A refused request must not keep alive the session that it is refused for.
            if not response.error_code:
                self._sessions.heard(request.broker_id, self.clock.monotonic_ms())
        return response

    async def wait_until_active(self) -> None:
        """Raises ApiError with NOT_CONTROLLER if this node does not become the active controller soon."""
        activation = self._activation
        if self._epoch is None and activation is not None and not activation.done():
            await asyncio.wait([activation], timeout=ACTIVATION_SECONDS)
        if self._epoch is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller")

    async def _decide(self, decision: Callable[[ClusterImage], Decision[Reply]]) -> Reply:
        # Shielded: if a client that disconnects ended the wait for the commit, the next decision would be made over an
        # image without this one, and could create the same topic again.
        turn = asyncio.ensure_future(self._decide_in_turn(decision))
        # Retrieved, so that asyncio does not complain when the caller is gone and the decision fails.
        turn.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(turn)

    async def _decide_in_turn(self, decision: Callable[[ClusterImage], Decision[Reply]]) -> Reply:
        async with self._lock:
            epoch = self._epoch
            if epoch is None:
                raise ApiError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller")
            decided = self._checked(decision)
            if decided.records:
                # Committed means that it is in the latest image.
                await self.quorum.append(decided.records, epoch, metadata_version(self.metadata.latest.features))
            return decided.reply

    def _checked(self, decision: Callable[[ClusterImage], Decision[Reply]]) -> Decision[Reply]:
        """The decision, once it is known that its records can be written and replayed. Raises ApiError.

        With a record in the log that cannot be replayed, every node would stop, and again after each restart.
        """
        image = self.metadata.latest
        try:
            decided = decision(image)
            if decided.records:
                for record in decided.records:
                    encode_record(record, metadata_version(image.features))
                apply(image, decided.records)
        except ApiError:
            raise
        except Exception as problem:
            logger.exception("a decision of the controller failed and changed nothing")
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller failed: {problem!r}") from problem
        return decided

    async def _heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        image = self.metadata.latest
        # Most heartbeats change nothing: those need no turn.
        decided = heartbeat(image, request, unclean=self._unclean(image))
        reply = decided.reply
        if decided.records:
            reply = await self._decide(lambda now: heartbeat(now, request, unclean=self._unclean(now)))
        if reply.should_shut_down:
            # It is about to stop; its next incarnation need not wait for this one's session to end.
            self._sessions.forget(request.broker_id)
        elif not reply.error_code:
            self._sessions.heard(request.broker_id, self.clock.monotonic_ms())
        return reply

    async def _watch_sessions(self) -> None:
        while True:
            await asyncio.sleep(self._until_session_check())
            if self._epoch is None:
                continue
            for broker_id in self._sessions.silent(self.metadata.latest, self.clock.monotonic_ms()):
                logger.warning("broker %d has sent no heartbeat within its session timeout; fencing it", broker_id)
                try:
                    await self._decide(partial(self._fence_if_silent, broker_id))
                except ApiError as error:
                    logger.warning("broker %d could not be fenced: %s", broker_id, error)

    def _until_session_check(self) -> float:
        if self._epoch is None:
            return MOST_SESSION_CHECK_SECONDS
        remaining = (self._sessions.next_end_ms(self.metadata.latest) - self.clock.monotonic_ms()) / 1000
        return max(LEAST_SESSION_CHECK_SECONDS, min(remaining, MOST_SESSION_CHECK_SECONDS))

    async def _elect_at_intervals(self, seconds: float, elections: Callable[[ClusterImage], Decision[bool]]) -> None:
        """`elections` report whether something is left for another round, which then follows at once."""
        while True:
            await asyncio.sleep(seconds)
            try:
                unfinished = self._epoch is not None
                while unfinished:
                    unfinished = await self._decide(elections)
            except ApiError as error:
                logger.warning("leaders could not be elected: %s", error)

    def _fence_if_silent(self, broker_id: int, image: ClusterImage) -> Decision[None]:
        if broker_id not in self._sessions.silent(image, self.clock.monotonic_ms()):
            return Decision(records=(), reply=None)
        return fence_broker(image, broker_id, unclean=self._unclean(image))

    async def _fence_gone(self, broker_id: int, epoch: int) -> None:
        def decide(image: ClusterImage) -> Decision[None]:
            broker = image.brokers.get(broker_id)
            # Its next incarnation may have registered meanwhile, or it has been heard from after all.
            if broker is None or broker.epoch != epoch or not self.absent_brokers.is_gone(broker_id):
                return Decision(records=(), reply=None)
            # The next incarnation need not wait for a session that nobody uses any more.
            self._sessions.forget(broker_id)
            return fence_broker(image, broker_id, unclean=self._unclean(image))

        await self._decide(decide)

    # -- decisions that need more than the image -----------------------------------------------------------------

    def _cluster_wide(self, image: ClusterImage) -> BrokerConfig:
        """The properties of this node, with those that are set for all brokers."""
        dynamic = image.cluster_config()
        return self.config.with_dynamic(cluster=dynamic) if dynamic else self.config

    def _unclean(self, image: ClusterImage) -> UncleanAllowed:
        return unclean_allowed(image, self._cluster_wide(image).topic_defaults())

    def _with_elections(self, decide: Decide) -> Decide:
        """A decision that may elect leaders, and so has to know where that may be unclean."""
        return lambda image, request: decide(image, request, unclean=self._unclean(image))

    def _create_topics(
        self, image: ClusterImage, request: CreateTopicsRequest, may_change: MayChange = any_number
    ) -> Decision[Message]:
        return create_topics(
            image,
            request,
            config=self._cluster_wide(image),
            topic_ids=[fresh_uuid(self.randomness.random_bytes(16)) for _ in request.topics],
            placement_start=self.randomness.below(PLACEMENT_STARTS),
            may_change=may_change,
        )

    def _delete_topics(
        self, image: ClusterImage, request: DeleteTopicsRequest, may_change: MayChange = any_number
    ) -> Decision[Message]:
        return delete_topics(image, request, config=self.config, may_change=may_change)

    def _create_partitions(
        self, image: ClusterImage, request: CreatePartitionsRequest, may_change: MayChange = any_number
    ) -> Decision[Message]:
        start = self.randomness.below(PLACEMENT_STARTS)
        return create_partitions(image, request, placement_start=start, may_change=may_change)

    def _create_acls(self, image: ClusterImage, request: CreateAclsRequest) -> Decision[Message]:
        self._require_authorizer()
        ids = [fresh_uuid(self.randomness.random_bytes(16)) for _ in request.creations]
        return create_acls(image, request, acl_ids=ids)

    def _delete_acls(self, image: ClusterImage, request: DeleteAclsRequest) -> Decision[Message]:
        self._require_authorizer()
        return delete_acls(image, request)

    def _require_authorizer(self) -> None:
        refusal = refusal_without_authorizer(self.config)
        if refusal is not None:
            raise refusal

    def _register(self, image: ClusterImage, request: BrokerRegistrationRequest) -> Decision[Message]:
        known = image.brokers.get(request.broker_id)
        same = known is not None and known.incarnation_id == request.incarnation_id
        # Of this node's own broker there cannot be a second process: the log directories are locked. Nor can there be
        # one that listens on the same ports.
        replaces = known is not None and is_at(known, request) and self.absent_brokers.is_replaceable(known.id)
        alive = (
            request.broker_id != self.config.node_id
            and not replaces
            and self._sessions.is_alive(request.broker_id, self.clock.monotonic_ms())
        )
        others = [each for each in image.brokers if each != self.config.node_id]
        return register_broker(
            image,
            request,
            next_offset=self.quorum.log.end_offset,
            session_alive=alive and not same,
            unclean=self._unclean(image),
            absent=[each for each in others if self.absent_brokers.is_replaceable(each)],
        )
