"""The broker properties of Kafka's server.properties, in tables by subject.

| file | which properties |
|---|---|
| `node.py` | who a node is, where it listens, its quorum and directories; parsed in `tidelog.config.node` |
| `network.py` | connections, requests and their limits; metrics and logs |
| `authorization.py` | who may do what |
| `cluster.py` | topics, replication, controllers |
| `coordinators.py` | groups, offsets, transactions |
| `security.py` | TLS, SASL and its mechanisms |
| `storage.py` | retention, checkpoints, compaction, producers' state |
| `topic_defaults.py` | those that give topic properties their defaults |
| `without_effect.py` | accepted, and without effect; each with its reason |
| `refused.py` | refused, each with its reason and remedy |
"""
