"""Replication between brokers: fetchers that follow leaders, and leaders that keep their in-sync sets.

    runtime.py         puts the parts together: what the node starts, notifies and stops
    fetchers.py        one fetcher for each broker that leads something we follow
    fetcher.py         follows one leader
    followed.py        the replicas that follow it, and what the next fetch says about them
    leader_answers.py  what it does with an answer: append, truncate, restart elsewhere
    session.py         the numbers of a follower's fetch session (KIP-227)
    in_sync.py         in-sync sets of what this broker leads: who lags leaves, who has caught up joins
    directories.py     reports to the controller in which log directory each replica is
    throttles.py       limits on what a broker sends as a leader and fetches as a follower (KIP-73)

The leader's side of a fetch is in `tidelog.server.api.fetch`, the state of a replica in `tidelog.server.replicas`.
"""
