"""Runs the pure coordinators of `tidelog.coordinators`: one runtime for all of them, generic over the shard.

A coordinator is the leader of the partitions of one internal topic. The runtime loads a shard from each partition,
appends what it decides, replays, answers when that is committed, keeps its time, and loads it again if it fails.

    runtime.py         all shards of a coordinator: who coordinates a key, becoming and ceasing to be leader
    shard_runtime.py   one shard: load, decide, append, replay, wait for the commit, answer, timers, failures
    lifecycle.py       loading, active, failed, closed: the stages and the steps between them, as one table
    shard_work.py      the timer and the tasks of a shard
    loading.py         reads a log from beginning to end
    port.py            what the runtime needs of a log, and what its errors mean to clients
    replica_log.py     such a log, on this broker's replicas
    assembly.py        builds the coordinators of a node from its parts

What only one coordinator has:

    groups.py          requests of groups, and what happens to topics and transactions elsewhere
    topics.py          topics of the cluster, as groups see them
    transactions.py    requests of producers; producer ids that a decision lacks, markers that follow from it
    marker_delivery.py until every partition of a decided transaction has its marker
    markers.py         appends markers here, and sends them to other brokers through other_brokers.py
    completions.py     waiting for the end of the last transaction
    verification.py    asks the coordinator before the first write of a transaction to a partition
    producer_ids.py    blocks of producer ids from the controller
    auto_topics.py     topics that are created when a client asks for them

Invariants that are easy to break:

- Nothing is awaited between a decision, its append and its replay.
- A decision that raises is rolled back and costs its own request. A shard is loaded again only if its log holds what
  it does not know.
- A wait for a commit is registered in the same step in which the log was read.
- What a shard began (tasks, waits for commits, its timer) ends with its stage; whoever waits for an answer gets one.
"""
