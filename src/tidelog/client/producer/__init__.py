"""The producer: `Producer` is what people use, everything else is behind it.

producer.py          `Producer`
intake.py            a record's way into its batch, compiled
payloads.py          keys, values and headers as users may give them
partition_choice.py  a partition for each record
partitioner.py       the rules it may follow
batches.py           records that wait, in batches. Pure
encoded_batches.py   record batches that were encoded elsewhere
sequences.py         sequence numbers (KIP-98, KIP-360). Pure
sender.py            sends batches to leaders, again after failures
delivery.py          what `send` returns
metrics.py           what a producer measures
"""
