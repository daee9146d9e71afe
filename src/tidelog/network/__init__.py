"""Connections: frames, requests and replies, without their meaning.

port.py               the port for connections, and its real implementation
server_connection.py  an accepted connection; replies keep the order of the requests
file_sending.py       replies whose records the kernel sends from their files
client_connection.py  an outgoing connection; replies are matched by correlation id
client_security.py    whether it has TLS, and who logs in over it
sasl_login.py         the login itself
tokens.py             where its bearer tokens come from
connection_advice.py  what to tell users whose connection fails for one of these
frame_receiver.py     frames off a stream of bytes, bounded in memory
request_memory.py     the memory of all requests together, and who waits for it
tls.py                TLS contexts of servers and clients
handshakes.py         accepted connections until they are encrypted, bounded in number and time
tls_settings.py       the properties `ssl.*` that they are made of
key_stores.py         private keys and certificates, in PEM and PKCS12
later.py              a future result
system.py             the machine's clock and randomness
"""
