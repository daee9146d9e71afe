"""The compiled codec of messages.

`message_codec.pyx` is its source, beside which `hatch_build.py` puts the compiled module. What that offers, and whether
it is used, is known to `tidelog.protocol.implementation`.
"""
