"""Whole histories of real server and client code on one deterministic event loop.

| module | what it simulates |
|---|---|
| `process`, `loop` | processes that can be paused and killed, and the virtual time they live in |
| `network`, `transport` | connections with delay, loss, resets and partitions |
| `disk` | files that forget what was not synced, and disks that fail |
| `clock` | wall clocks that are wrong, randomness that repeats |
| `faults`, `world` | what goes wrong when, and the machines that it happens to |
| `workload`, `transactional`, `transaction_workload` | what clients do |
| `history`, `checkers` | what they saw, and whether that was allowed |
| `scenario`, `setup`, `ending` | what a seed stands for, how it begins, and how it ends |
| `run`, `campaign` | one seed, and many of them |

Everything random is drawn from the seed, so a failure is repeated by its seed. Nothing here opens a socket or a file,
reads a clock or starts a thread.
"""
