"""What to tell a user whose connection fails because the two ends speak differently. Words only."""

from __future__ import annotations

import re
import ssl

# X509_V_ERR_*: what OpenSSL found wrong with the server's certificate.
_OTHER_NAME = frozenset({62, 63, 64})
_NOT_YET_VALID = 9
_EXPIRED = 10
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})
# The record type and the first byte of the version that a TLS alert begins with.
ALERT_START = b"\x15\x03"

SPEAKS_TLS = (
    "the broker speaks TLS on this port: set security.protocol=SSL, or SASL_SSL if it asks for a login, or connect to "
    "the port of another listener"
)
# These follow "closed the connection".
PROBABLY_TLS = (
    " without an answer, as a broker does that speaks TLS on this port: then set security.protocol=SSL, or SASL_SSL if "
    "it asks for a login"
)
PROBABLY_NO_CERTIFICATE = (
    " without an answer, as a broker does that asks for a certificate of this client: then set ssl.keystore.location "
    "to one that the broker's trust store vouches for"
)
PROBABLY_SASL = (
    " at the first request, as a broker does that asks for a login on this port: then set "
    "security.protocol=SASL_PLAINTEXT, or SASL_SSL with TLS, and sasl.mechanism"
)
_NO_TLS = (
    "the broker probably does not speak TLS on this port: set security.protocol to PLAINTEXT instead of SSL, or to "
    "SASL_PLAINTEXT instead of SASL_SSL, or connect to the port of another listener. If it does, it may ask for a "
    "certificate of this client (ssl.keystore.location)"
)
_REFUSED_CERTIFICATE = re.compile(r"alert.*(certificate|unknown.ca|bad.cert|access.denied)", re.IGNORECASE)
_BROKEN_OFF = frozenset({"UNEXPECTED_EOF_WHILE_READING", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"})


def is_certificate_problem(error: BaseException | None) -> bool:
    """Whether one side does not accept the other's certificate: trying again does not help."""
    return isinstance(error, ssl.SSLCertVerificationError) or (
        isinstance(error, ssl.SSLError) and _REFUSED_CERTIFICATE.search(_text(error)) is not None
    )


def tls_problem(error: OSError, host: str) -> str:
    """What went wrong in a handshake, and what to do about it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_problem(error, host)
    if isinstance(error, ssl.SSLError):
        if is_certificate_problem(error):
            return (
                f"the broker does not accept this client's certificate ({_text(error)}): set ssl.keystore.location to "
                "one that the broker's trust store vouches for"
            )
        if error.reason in _BROKEN_OFF:
            return f"the TLS handshake broke off ({_text(error)}): {_NO_TLS}"
        return f"the TLS handshake failed: {_text(error)}. Check ssl.enabled.protocols and ssl.cipher.suites"
    return f"the broker broke off the TLS handshake: {_NO_TLS}"


def _certificate_problem(error: ssl.SSLCertVerificationError, host: str) -> str:
    code, said = error.verify_code, error.verify_message.rstrip(".")
    if code in _OTHER_NAME:
        return (
            f"the broker's certificate is not for {host!r} ({said}): connect to a name that it has, or issue one with "
            f"this name. ssl.endpoint.identification.algorithm= (empty) switches the check off, and with it the "
            "protection against brokers that pretend to be others"
        )
    if code in _UNKNOWN_AUTHORITY:
        return (
            f"the broker's certificate is not trusted ({said}): set ssl.truststore.location, or "
            "ssl.truststore.certificates, to the certificate of the authority that signed it"
        )
    if code == _EXPIRED:
        return "the broker's certificate has expired: it must be renewed on the broker"
    if code == _NOT_YET_VALID:
        return "the broker's certificate is not valid yet: compare the clocks of this machine and the broker's"
    return f"the broker's certificate is not accepted: {said}"


def _text(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
