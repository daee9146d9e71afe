"""What differs between the versions of Spark that tidelog runs on. Other modules import Spark's interface from here.

    data_sources.py  Spark's interface for data sources, as Spark 4.2 has it
    messages.py      the type of what tasks hand to the driver
    refusals.py      what a version cannot do at all, and what to do instead

| Spark | lacks | what tidelog does |
|---|---|---|
| 4.2 and newer | nothing | |
| 4.1 | read limits (`latestOffset` without arguments), `SupportsTriggerAvailableNow` | `source/self_limited.py` |
| 4.0 | the same, and the Arrow writer of streams | the same, and a writer in `data_sources.py` |
| 3.5 | Python data sources | `tidelog.spark.exactly_once_batch` in `foreachBatch` |
"""
