"""Consumer groups of the new protocol (KIP-848): the coordinator assigns partitions, one heartbeat at a time.

A member says what it is subscribed to and what it owns; the coordinator answers with what it should own. There is no
moment at which all members stop: each goes from its own epoch to the target's, and gives up partitions before others
get them. The shard that holds these groups beside the classic ones is `tidelog.coordinators.groups.shard`.

    state.py           the consumer groups of a shard: replay, timers, and what is known of topics
    settings.py        the properties they obey
    topics.py          topics as the coordinator sees them
    states.py          the states of a group and of a member, and the steps between them, as two tables
    group.py           one group: epochs, members, target assignment, who owns what
    member.py          one member: what it said about itself, and how far it has got
    requests.py        whether a heartbeat makes sense, whom it is from, and replies
    heartbeat.py       joining, and being there
    steps.py           what follows: the group follows its members, and each member the target
    departure.py       leaving, being thrown out, and timers
    subscriptions.py   which topics a group is subscribed to, by name and by regular expression
    target.py          from a group epoch to a target assignment
    assignment.py      what an assignor is; assignors.py names them: uniform_assignor.py, range_assignor.py
    reconciliation.py  one step of a member towards its target
    description.py     ConsumerGroupDescribe
    offset_fencing.py  who may commit and fetch offsets
    invariants.py      what must hold of the groups between two decisions
    records.py         how all this is written to the log

Invariants that are easy to break:

- All of it is durable and changed by `replay` alone; `decide` only sets timers. Timers are cancelled by `replay`, so
  that a decision whose append failed is made again.
- A partition has one owner at most. It is the owner's until the owner's own record says otherwise, whatever the target
  says.
- A member's epoch never exceeds the epoch of the target assignment, which never exceeds the group's.
"""
