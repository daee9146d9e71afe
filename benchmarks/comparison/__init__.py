"""tidelog beside Apache Kafka: the same clients, both at the same time, in turns.

| file | what is in it |
|---|---|
| `contestants.py` | how tidelog, tidelog without compiled parts, and Apache Kafka are started and observed |
| `figures.py` | a figure with its unit and goal; medians and ratios |
| `scenario.py` | what one measurement consists of, and the turns in which it is taken |
| `librdkafka.py` | producing and consuming with the client that all sides are measured with |
| `catalogue.py` | all scenarios |
| `throughput.py` | bytes per second in and out, and the broker's CPU for them |
| `requests.py` | small requests, one in flight on each connection |
| `latency.py` | from producer to consumer at a fixed rate |
| `transactions.py` | transactions one after the other |
| `starting.py` | start, memory, and a restart after kill -9 |
| `growth.py` | 1 to 1,000 partitions, 1 to 5,000 connections, 10,000 topics |
| `replication.py` | three nodes: bytes per second, transactions, fail-over |
| `cores.py` | bytes per second with several clients, on one core and on two |
| `security.py` | TLS in and out, logins with SCRAM |
| `upkeep.py` | compaction, and the rebalance of a large group |
| `clients.py` | records per second through client libraries, on one server |
| `client_work.py` | what each of them does, in a process of its own |
| `report.py` | the page in docs/benchmarks with its history |
| `plots.py` | the drawings on it |
"""
