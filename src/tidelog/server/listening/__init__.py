"""The listeners of a node, and how they learn who connects.

| file | what is in it |
|---|---|
| `listeners.py` | opens and closes listeners, and looks for new certificates |
| `listener_security.py` | what one listener asks of its clients, as it is now |
| `security_sources.py` | where listeners find users, keys and properties |
| `sasl_gate.py` | SASL on one connection: nothing else is answered before it has succeeded |
| `certificate_gate.py` | who a client is by its certificate |
| `mechanisms.py` | the mechanisms of a listener, from its properties |
| `key_sets.py` | the key sets that check signed tokens: fetched again and again, off the event loop |
"""
