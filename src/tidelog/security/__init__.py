"""Who clients are, what they may do and how much of it, decided as Apache Kafka decides it. Pure.

What drives it is elsewhere: `server/listening/` and `network/tls.py` for who connects.

acls.py               what ACLs are, which may be created, what a filter selects
authorizer.py         whether somebody may do something, over a set of ACLs
exchange.py           what the mechanisms of SASL have in common
sasl_session.py       the server's side of SASL on one connection
client_handshake.py   the client's side
client_login.py       who a client logs in as, from its properties
scram.py              SCRAM-SHA-256 and SCRAM-SHA-512, both sides
scram_messages.py     their messages
scram_argument.py     a credential as the argument of a command
plain.py              PLAIN, both sides
oauthbearer.py        OAUTHBEARER, both sides
unsecured_tokens.py   tokens without a signature, for development
unsecured_login.py    such tokens, made by the client itself
jwt_tokens.py         signed tokens, checked with a key set
jaas.py               the property `sasl.jaas.config`
certificates.py       a certificate authority for development
distinguished_names.py  the subject of a certificate as text, as Java writes it
principal_mapping.py  who a certificate belongs to: `ssl.principal.mapping.rules`
java_patterns.py      Java's regular expressions, in those of Python
java_characters.py    what Java takes for letters, digits and blanks
quotas/               rates, throttling, and who has which quota
"""
