"""Certificates of the development authority, as Python's own TLS takes and refuses them."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority, certificate_covers

HOSTS = ("localhost", "127.0.0.1", "::1")


def handshake(authority: bytes, pair: CertificateWithKey, host: str, directory: Path) -> str:
    """The subject of the server's certificate; raises ssl.SSLError."""
    keystore = directory / "keystore.pem"
    keystore.write_bytes(pair.keystore)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(keystore)
    client_context = ssl.create_default_context(cadata=authority.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=host)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    for _ in _turns():
        done = 0
        for side in (client, server):
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                continue
        if done == 2:
            break
    peer = client.getpeercert()
    assert peer is not None
    return str(peer["subject"])


def _turns() -> Iterator[int]:
    yield from range(10)
    raise AssertionError("the handshake does not come to an end")


@pytest.mark.parametrize("host", HOSTS)
def test_a_certificate_is_taken_for_each_of_its_names(host: str, tmp_path: Path) -> None:
    authority = DevelopmentAuthority.new()
    pair = authority.issue("broker-1", hosts=HOSTS)
    assert "broker-1" in handshake(authority.pair.certificate, pair, host, tmp_path)


def test_another_name_another_authority_and_another_time_are_refused(tmp_path: Path) -> None:
    authority, other = DevelopmentAuthority.new(), DevelopmentAuthority.new()
    pair = authority.issue("broker-1", hosts=["localhost"])
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(authority.pair.certificate, pair, "elsewhere", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(other.pair.certificate, pair, "localhost", tmp_path)
    late = authority.issue("broker-1", hosts=["localhost"], days=1, now=datetime.now(UTC) - timedelta(days=2))
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(authority.pair.certificate, late, "localhost", tmp_path)


def test_an_authority_goes_on_with_what_was_kept_of_it(tmp_path: Path) -> None:
    kept = DevelopmentAuthority.new().pair
    pair = DevelopmentAuthority(kept).issue("again", hosts=["localhost"])
    assert "again" in handshake(kept.certificate, pair, "localhost", tmp_path)


def test_whether_a_certificate_covers_hosts_at_a_time() -> None:
    now = datetime.now(UTC)
    certificate = DevelopmentAuthority.new().issue("broker", hosts=HOSTS, days=10).certificate
    assert certificate_covers(certificate, ["127.0.0.1", "localhost"], now)
    assert not certificate_covers(certificate, ["127.0.0.1", "example.org"], now)
    assert not certificate_covers(certificate, ["localhost"], now + timedelta(days=11))


def test_keys_are_not_shown() -> None:
    pair = DevelopmentAuthority.new().pair
    assert b"PRIVATE KEY" in pair.key
    assert "PRIVATE" not in repr(pair)
