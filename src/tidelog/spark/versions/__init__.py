"""What differs between the versions of Spark that tidelog runs on. Other modules import Spark's interface from here.

| Spark | lacks | what tidelog does |
|---|---|---|
| 4.2 and newer | nothing | |
| 4.1 | read limits (`latestOffset` without arguments), `SupportsTriggerAvailableNow` | `self_limited` |
| 4.0 | the same, and the Arrow writer of streams | `self_limited`, and a writer in `data_sources` |
| 3.5 | Python data sources | `tidelog.spark.exactly_once_batch` in `foreachBatch` |
"""
