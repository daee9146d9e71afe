"""How a running node shows, changes and applies configuration.

| file | what is in it |
|---|---|
| `live.py` | the configuration as it is now: the file's properties under the dynamic ones |
| `log_levels.py` | the levels of this process's loggers (BROKER_LOGGER) |
| `node_security.py` | how a node connects to other nodes: TLS, and who it logs in as |
| `tls_properties.py` | the settings of TLS, of listeners and of connections to other nodes |
| `topic_settings.py` | a topic's configuration as the log and the checks on produce need it |
"""
