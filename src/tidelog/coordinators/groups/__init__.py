"""The group coordinator: membership of consumer groups, and the offsets they commit.

A shard is one partition of `__consumer_offsets`, and `shard.GroupShard` is the only door to it. Groups of the newer
protocol are in `coordinators.consumer_groups`; both kinds meet in the shard, in lists, where offsets are concerned, and
where a group changes its protocol.

    shard.py          decide, replay, timers: who is called for what
    state.py          what a shard holds, and its timers
    settings.py       the properties it obeys
    states.py         the states of a classic group and the steps between them, as one table
    group.py          one classic group: who is in it, who waits
    members.py        one member of a classic group, and the vote for a protocol
    rebalance.py      from "somebody must rejoin" to "everybody has joined"
    join.py sync.py   the two phases of a rebalance, as requests see them
    presence.py       Heartbeat, LeaveGroup, and members that have gone silent
    migration.py      a group with members changes its protocol; embedded_protocol.py reads what its members wrote
    classic_members.py  the four requests of classic members that are in a consumer group
    offsets.py        committed offsets, and those of open transactions
    offset_commit.py offset_fetch.py offset_expiry.py
    listing.py        ListGroups, DescribeGroups, DeleteGroups
    records.py        how all this is written to the log
    invariants.py     what must hold of a shard between two decisions
    savepoint.py      what a decision may touch, so that one that fails can be undone
    replies.py        what an error looks like in each reply

Invariants that are easy to break:

- Durable state (committed offsets, the last stable generation of a group) is changed by `replay` alone. What is lost
  with the coordinator (who waits, who has joined a rebalance that is under way) is changed by `decide`.
- Soft state may run ahead of the log, never durable state: a decision whose append failed has only to answer its
  requests with an error; clients then repeat them.
- Nothing happens to a shard between `decide` and the `replay` of its records.
"""
