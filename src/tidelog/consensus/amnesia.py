"""A voter without a past: it starts with an empty log and no quorum state.

Either the whole quorum is new, or the disk of this voter was replaced. In the latter case it has promised things that
it does not remember: that records are in its log, and its votes. If it voted now, two leaders could be elected in one
epoch, or one that lacks what is committed. So it neither votes nor stands until it knows better:

- The quorum is new, because the logs of the others are empty too: of all of them, or, if some do not answer within an
  election timeout, of so many that they and this one are a majority, and none of these knows of any epoch. So a new
  quorum can begin without all of its voters. What it costs: if the others have never reached one of three voters, its
  disk must not be replaced while another one is down.
- Otherwise it asks every other voter for its epoch. No epoch that it took part in can be above the highest of them:
  whoever led it, or voted in it, is among those asked. Then it follows a leader of that epoch or of a later one until
  it has all that this leader knows to be committed.

Of two voters the other one may be elected by this one in the meantime, see `may_vote`.

In between it fetches like any follower, and its fetches count: what it has now, it has. That it is in this state has
to survive a restart; see `Effects.remembers`.
"""

from __future__ import annotations

from tidelog.consensus.log_view import last_epoch
from tidelog.consensus.messages import Vote
from tidelog.consensus.roles import Follower, Unattached
from tidelog.consensus.state import Amnesia, ReplicaState


def ask(state: ReplicaState, amnesia: Amnesia) -> float:
    """Ask the voters that have not answered yet. A pre-vote does not disturb them. When to ask again."""
    request = Vote(
        candidate_id=state.settings.node_id,
        candidate_directory_id=state.settings.directory_id,
        epoch=state.election.epoch,
        last_epoch=last_epoch(state.log),
        end_offset=state.log.end_offset,
        pre_vote=True,
    )
    deadline_ms = float("inf")
    for voter in state.settings.other_voters:
        if voter not in amnesia.empty:
            deadline_ms = min(deadline_ms, state.send(voter, lambda: request))
    return deadline_ms


def poll_unattached(state: ReplicaState, amnesia: Amnesia, role: Unattached) -> float:
    """Whoever leads introduces itself, so there is nothing to do but to ask."""
    deadline_ms = role.deadline_ms if role.deadline_ms > state.now_ms else float("inf")
    return min(deadline_ms, ask(state, amnesia))


def may_vote(state: ReplicaState, amnesia: Amnesia, request: Vote) -> bool:
    """Of two voters the other one has all that is committed, since that takes both. Without this one's vote it could
    never lead, so it gets it, in an epoch that neither of them knew of when this one asked."""
    known_epoch = amnesia.epochs.get(request.candidate_id)
    return len(state.settings.voters) == 2 and known_epoch is not None and request.epoch > known_epoch


def is_over(state: ReplicaState, amnesia: Amnesia) -> bool:
    """Whether this voter is as good as one that has never lost anything."""
    return _quorum_is_new(state, amnesia) or _has_caught_up(state, amnesia)


def _quorum_is_new(state: ReplicaState, amnesia: Amnesia) -> bool:
    role = state.role
    if not isinstance(role, Unattached) or state.log.end_offset or not all(amnesia.empty.values()):
        return False
    settings = state.settings
    voters = len(amnesia.empty) + 1
    if voters == len(settings.voters):
        return True
    # One that is silent may have what this one has forgotten. It would have needed somebody else to commit it, though,
    # and to be elected: among those who know of no epoch at all there is nobody.
    untouched = not any(amnesia.epochs.values())
    return untouched and voters >= settings.majority and state.now_ms >= role.deadline_ms


def _has_caught_up(state: ReplicaState, amnesia: Amnesia) -> bool:
    role = state.role
    if not isinstance(role, Follower) or len(amnesia.empty) < len(state.settings.other_voters):
        return False
    # A leader knows of no high watermark before a record of its own epoch is committed, and with it all earlier ones.
    is_current = state.election.epoch >= max(amnesia.epochs.values())
    return is_current and not state.write_pending and 0 < role.leader_high_watermark <= state.durable_end_offset
