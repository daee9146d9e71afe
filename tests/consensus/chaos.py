"""Random faults and random work for a simulated quorum, and the check that it recovers when the faults end."""

from __future__ import annotations

from consensus.checkers import Violation
from consensus.simulation import Flaw, Node, Simulation, Translate

CHAOS_MS = 10_000
# Followers give up their leader after two timeouts, and an election takes a few rounds of one to two; then those far
# behind have to catch up record by record.
RECOVERY_TIMEOUTS = 7
CATCH_UP_MS = 5_000
# In a storm hardly anything gets done; between rare faults there is more to lose.
FAULT_INTERVALS_MS = ((20, 600), (200, 2_500))
WORK_INTERVAL_MS = (5, 150)
MAX_SNAPSHOT_LAG = 4


def run_history(
    seed: int,
    *,
    flaws: frozenset[Flaw] = frozenset(),
    chaos_ms: float = CHAOS_MS,
    translate: Translate | None = None,
) -> Simulation:
    """One history of about half a virtual minute. Raises Violation; the simulation is returned for a closer look."""
    voters = (3, 5, 3, 3, 1, 2, 3, 4)[seed % 8]
    observers = (0, 1, 2)[seed // 8 % 3]
    # Short timeouts bring many elections, and many that collide.
    timeout_ms = (1_000, 200, 50)[seed // 24 % 3]
    simulation = Simulation(
        seed, voters=voters, observers=observers, timeout_ms=timeout_ms, flaws=flaws, translate=translate
    )
    schedule_work(simulation)
    schedule_fault(simulation, FAULT_INTERVALS_MS[seed // 72 % 2])
    simulation.run(chaos_ms)
    simulation.heal()
    check_recovery(simulation)
    return simulation


def check_recovery(simulation: Simulation) -> None:
    """Within a bound there is a leader, a new record is committed, and everybody knows it."""
    # What was proposed to the leader of an epoch, which may turn out to be the leader of a past one.
    wanted: dict[int, int] = {}

    def recovered() -> bool:
        leading = {node.leading_epoch: node for node in simulation.nodes.values() if node.leading_epoch is not None}
        if not leading:
            return False
        epoch = max(leading)
        if epoch not in wanted:
            offset = simulation.propose(leading[epoch])
            assert offset is not None
            wanted[epoch] = offset + 1
        return all(node.high_watermark >= wanted[epoch] for node in simulation.nodes.values())

    timeout_ms = simulation.nodes[1].settings.election_timeout_ms
    if not simulation.run_until(recovered, RECOVERY_TIMEOUTS * timeout_ms + CATCH_UP_MS):
        watermarks = {node.node_id: node.high_watermark for node in simulation.nodes.values()}
        raise Violation("recovery after faults", f"high watermarks {watermarks}, wanted by epoch {wanted}")
    simulation.history.check_logs((node.node_id, node.log.entries) for node in simulation.nodes.values())


def schedule_work(simulation: Simulation) -> None:
    def work() -> None:
        chance = simulation.chance
        node = chance.choice(list(simulation.nodes.values()))
        if node.leading_epoch is None and chance.random() < 0.7:
            leaders = [other for other in simulation.nodes.values() if other.leading_epoch is not None]
            node = chance.choice(leaders) if leaders else node
        simulation.propose(node)
        if chance.random() < 0.05:
            _take_snapshot(simulation, node)
        schedule_work(simulation)

    if simulation.faults:
        simulation.at(simulation.chance.uniform(*WORK_INTERVAL_MS), work)


def _take_snapshot(simulation: Simulation, node: Node) -> None:
    end_offset = min(node.high_watermark, node.log.durable_end_offset) - simulation.chance.randint(0, MAX_SNAPSHOT_LAG)
    if node.replica is not None and end_offset > node.log.start_offset:
        node.log.take_snapshot(end_offset)


def schedule_fault(simulation: Simulation, interval_ms: tuple[float, float] = FAULT_INTERVALS_MS[0]) -> None:
    def strike() -> None:
        if simulation.faults:
            simulation.chance.choice(_FAULTS)(simulation)
            schedule_fault(simulation, interval_ms)

    simulation.at(simulation.chance.uniform(*interval_ms), strike)


def _crash_anybody(simulation: Simulation) -> None:
    simulation.crash_and_restart(simulation.chance.choice(list(simulation.nodes.values())))


def _crash_leader(simulation: Simulation) -> None:
    for node in simulation.nodes.values():
        if node.leading_epoch is not None:
            simulation.crash_and_restart(node)


def _crash_everybody(simulation: Simulation) -> None:
    for node in simulation.nodes.values():
        simulation.crash_and_restart(node)


def _crash_in_the_middle(simulation: Simulation) -> None:
    simulation.order_crash()


def _replace_disk(simulation: Simulation) -> None:
    """One at a time: while a voter does not know what it has forgotten, nobody else may lose anything. And not before
    all know that the quorum has begun."""
    settings = simulation.nodes[1].settings
    voters = [simulation.nodes[voter] for voter in sorted(settings.voters)]
    begun = all(simulation.history.epochs.get(voter.node_id) for voter in voters)
    if not begun or any(voter.forgetful for voter in voters) or len(voters) < 2:
        return
    node = simulation.chance.choice(list(simulation.nodes.values()))
    simulation.replace_disk(node)
    simulation.at(simulation.chance.uniform(5, 1_500), lambda: simulation.start(node))


def _block_one_way(simulation: Simulation) -> None:
    one, other = simulation.chance.choices(list(simulation.nodes), k=2)
    simulation.blocked.add((one, other))


def _partition(simulation: Simulation) -> None:
    nodes = list(simulation.nodes)
    one_side = set(simulation.chance.sample(nodes, simulation.chance.randint(1, len(nodes))))
    for one in one_side:
        for other in set(nodes) - one_side:
            simulation.blocked |= {(one, other), (other, one)}


def _isolate_leader(simulation: Simulation) -> None:
    for node in simulation.nodes.values():
        if node.leading_epoch is not None:
            outgoing = simulation.chance.random() < 0.7
            incoming = not outgoing or simulation.chance.random() < 0.7
            for other in simulation.nodes:
                simulation.blocked |= {(node.node_id, other)} if outgoing else set()
                simulation.blocked |= {(other, node.node_id)} if incoming else set()


def _unblock(simulation: Simulation) -> None:
    simulation.blocked.clear()


def _pause(simulation: Simulation) -> None:
    node = simulation.chance.choice(list(simulation.nodes.values()))
    node.paused_until_ms = simulation.now_ms + simulation.chance.uniform(100, 6_000)


def _resign(simulation: Simulation) -> None:
    for node in simulation.nodes.values():
        simulation.resign(node)


_FAULTS = (
    _crash_anybody,
    _crash_anybody,
    _replace_disk,
    _replace_disk,
    _crash_leader,
    _crash_everybody,
    _crash_in_the_middle,
    _crash_in_the_middle,
    _crash_in_the_middle,
    _block_one_way,
    _partition,
    _isolate_leader,
    _unblock,
    _unblock,
    _unblock,
    _pause,
    _resign,
)
