"""The metadata quorum as KRaft has it: Raft whose followers fetch, as a pure state machine.

`QuorumReplica` decides, `Effects` say what to do, `QuorumWire` speaks Kafka's RPCs. Nothing here reads a clock, a file
or a socket.

    replica.py               `start`, then `step` for each event
    transitions.py           the roles and the ways between them, as one table
    roles.py                 what a replica remembers in one role
    state.py                 what all roles share
    elections.py             votes, and the pre-vote (KIP-996)
    leading.py               what a leader does
    following.py             what followers and observers do
    amnesia.py               a voter that has lost its disk
    progress.py              how far the others are, and what is committed
    log_view.py              what a replica needs to know of its log
    snapshots.py             when snapshots are due, and which can go
    conversations.py         which requests are under way
    messages.py              what happens to a replica, and what replicas send
    effects.py               what to do after a step
    quorum_state.py          the `quorum-state` file
    settings.py              who votes, and how long each waits
    wire.py wire_answers.py  Kafka's RPCs around the messages
    description.py           replicas as DescribeQuorum shows them
"""

from tidelog.consensus.effects import Effects
from tidelog.consensus.replica import QuorumReplica
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.wire import QuorumWire

__all__ = ["Effects", "QuorumReplica", "QuorumSettings", "QuorumWire"]
