"""Replication between brokers: fetchers that follow leaders, and leaders that keep their in-sync sets.

`runtime` puts the parts together; `fetchers` has one `fetcher` for each broker that leads something we follow;
`in_sync` asks the controller for changes of in-sync sets, through the port in `authority`; `nearby` finds a replica
that is close to a consumer. The leader's side of a fetch is in `tidelog.server.api.fetch`, the state of a replica
in `tidelog.server.replicas`.
"""
