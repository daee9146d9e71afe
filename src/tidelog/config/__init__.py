"""What can be configured, and what follows from it. Pure: nothing here knows a clock, a disk or a network.

| file | what is in it |
|---|---|
| `definitions.py` | what a property is: type, default, allowed values, effect, and how its text is read |
| `fields.py` | declares a property as a typed field of a dataclass |
| `catalogue/` | the tables of broker properties |
| `topic.py` | `TopicConfig`: the properties of topics |
| `group.py` | the properties of consumer groups and their bounds |
| `client_metrics.py` | the properties of subscriptions to client metrics |
| `broker.py` | `BrokerConfig`: the settings of one node, static and dynamic |
| `node.py` | roles, listeners, quorum and directories of a node, checked together |
| `listeners.py` | the syntax of listeners, voters and addresses |
| `listener_properties.py` | properties of single listeners, and of mechanisms on them |
| `layers.py` | which source of a broker property wins |
| `alteration.py` | what IncrementalAlterConfigs and AlterConfigs make of stored properties |
| `describe.py` | what DescribeConfigs shows |
| `single_copy.py` | what a start without redundancy sets |
| `properties.py` | the format of .properties files |

The reference pages `docs/reference/configuration.md` and `client-configuration.md` are written from these tables by
`make docs-pages`. A property that is declared effective and that nothing reads, or that is dynamic in name only, fails
`tests/config/test_effects.py` or `tests/server/test_dynamic_properties.py`.
"""
