"""The metadata quorum as KRaft has it: Raft whose followers fetch, as a pure state machine.

`QuorumReplica` decides, `Effects` say what to do, `QuorumWire` speaks Kafka's RPCs. Nothing here reads a clock, a file
or a socket. The roles and how they follow on each other are in `tidelog.consensus.transitions`.
"""

from tidelog.consensus.effects import Effects
from tidelog.consensus.replica import QuorumReplica
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.wire import QuorumWire

__all__ = ["Effects", "QuorumReplica", "QuorumSettings", "QuorumWire"]
