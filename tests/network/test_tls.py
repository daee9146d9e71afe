"""TLS contexts from Kafka's properties: what is accepted, what is refused with which words, and who trusts whom."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.identities import encrypted_key, pkcs12_key_store, pkcs12_trust_store
from support.processes import HANG_SECONDS

from tidelog.config.definitions import InvalidConfig
from tidelog.network.tls import TlsSettings, client_context, openssl_suite, server_context
from tidelog.security.certificates import CertificateWithKey, DevelopmentAuthority

PASSWORD = "s3cret-of-the-store"


@pytest.fixture(scope="module")
def authority() -> DevelopmentAuthority:
    return DevelopmentAuthority.new("Development CA")


@pytest.fixture(scope="module")
def server(authority: DevelopmentAuthority) -> CertificateWithKey:
    return authority.issue("server", hosts=["localhost", "127.0.0.1"])


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> ssl.SSLObject:
    """In memory. Returns the server's side; raises what the first side to fail raises."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    pending = list(sides)
    for _ in range(10):
        for side in list(pending):
            try:
                side.do_handshake()
                pending.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert not pending
    return sides[1]


def trusting(authority: DevelopmentAuthority, **more: str) -> ssl.SSLContext:
    properties = {
        "ssl.truststore.certificates": authority.pair.certificate.decode(),
        "ssl.truststore.type": "PEM",
        **more,
    }
    return client_context(TlsSettings.from_properties(properties))


def serving(properties: dict[str, str]) -> ssl.SSLContext:
    return server_context(TlsSettings.from_properties(properties))


def one_line(text: str) -> str:
    return " ".join(text.split("\n"))


KEY_STORES: dict[str, Callable[[CertificateWithKey, DevelopmentAuthority, Path], dict[str, str]]] = {
    "a PEM file": lambda identity, authority, path: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": _written(path, identity.keystore),
    },
    "a PEM file without a type": lambda identity, authority, path: {
        "ssl.keystore.location": _written(path, identity.keystore),
    },
    "a PEM file with an encrypted key": lambda identity, authority, path: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": _written(path, encrypted_key(identity, PASSWORD).encode() + identity.certificate),
        "ssl.key.password": PASSWORD,
    },
    "inline": lambda identity, authority, _: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": identity.key.decode(),
        "ssl.keystore.certificate.chain": identity.certificate.decode(),
    },
    "inline in one line, encrypted": lambda identity, authority, _: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": one_line(encrypted_key(identity, PASSWORD)),
        "ssl.keystore.certificate.chain": one_line(identity.certificate.decode()),
        "ssl.key.password": PASSWORD,
    },
    "PKCS12": lambda identity, authority, path: {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": _written(path, pkcs12_key_store(identity, authority, PASSWORD)),
        "ssl.keystore.password": PASSWORD,
    },
    "PKCS12 that is called JKS": lambda identity, authority, path: {
        "ssl.keystore.type": "JKS",
        "ssl.keystore.location": _written(path, pkcs12_key_store(identity, authority, PASSWORD)),
        "ssl.keystore.password": PASSWORD,
    },
}


def _written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize("kind", KEY_STORES)
def test_a_server_is_trusted_by_whoever_trusts_its_authority(
    kind: str, authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    context = serving(KEY_STORES[kind](server, authority, tmp_path / "store"))
    assert handshake(context, trusting(authority)).version() == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(context, trusting(DevelopmentAuthority.new("Other CA")))


def test_a_key_is_nowhere_on_the_disk_afterwards(
    server: CertificateWithKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[bytes] = []
    whole = ssl.SSLContext.load_cert_chain

    def spying(context: ssl.SSLContext, path: str, *, password: bytes) -> None:
        assert Path(path).stat().st_mode & 0o777 == 0o600
        assert Path(path).parent.stat().st_mode & 0o777 == 0o700
        seen.append(Path(path).read_bytes())
        whole(context, path, password=password)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spying)
    serving({"ssl.keystore.key": server.key.decode(), "ssl.keystore.certificate.chain": server.certificate.decode()})
    (written,) = seen
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in written
    assert server.key.splitlines()[1] not in written
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "other.example"])
def test_a_client_compares_the_name_unless_it_is_told_not_to(
    name: str, authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    context = serving(KEY_STORES["PKCS12"](server, authority, tmp_path / "store"))
    if name == "other.example":
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            handshake(context, trusting(authority), name)
    else:
        handshake(context, trusting(authority), name)
    handshake(context, trusting(authority, **{"ssl.endpoint.identification.algorithm": ""}), name)


@pytest.mark.parametrize("auth", ["none", "requested", "required"])
@pytest.mark.parametrize("who", ["known", "foreign", "nobody"])
def test_client_certificates(auth: str, who: str, authority: DevelopmentAuthority, server: CertificateWithKey) -> None:
    context = serving(
        {
            "ssl.keystore.key": server.key.decode(),
            "ssl.keystore.certificate.chain": server.certificate.decode(),
            "ssl.truststore.certificates": authority.pair.certificate.decode(),
            "ssl.client.auth": auth,
            # With TLS 1.3 a client learns of a refusal only after its own handshake.
            "ssl.enabled.protocols": "TLSv1.2",
        }
    )
    signer = authority if who == "known" else DevelopmentAuthority.new("Other CA")
    own = signer.issue("CN=orders,O=Example")
    more = {"ssl.keystore.key": own.key.decode(), "ssl.keystore.certificate.chain": own.certificate.decode()}
    client = trusting(authority, **({} if who == "nobody" else more))
    if auth == "none" or who == "known" or (auth == "requested" and who == "nobody"):
        certificate = handshake(context, client).getpeercert(binary_form=True)
        assert (certificate is not None) is (who == "known" and auth != "none")
    else:
        with pytest.raises(ssl.SSLError):
            handshake(context, client)


def test_versions_and_suites(authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path) -> None:
    store = KEY_STORES["PKCS12"](server, authority, tmp_path / "store")
    assert handshake(serving({**store, "ssl.enabled.protocols": "TLSv1.2"}), trusting(authority)).version() == "TLSv1.2"
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    chosen = handshake(serving({**store, "ssl.cipher.suites": suite}), trusting(authority))
    assert (chosen.version(), chosen.cipher()) == ("TLSv1.2", ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128))
    older = trusting(authority, **{"ssl.enabled.protocols": "TLSv1.2"})
    with pytest.raises(ssl.SSLError):
        handshake(serving({**store, "ssl.enabled.protocols": "TLSv1.3"}), older)
    with pytest.raises(InvalidConfig, match=r"ssl\.cipher\.suites=TLS_NO_WITH_SUITE: OpenSSL has no cipher suite"):
        serving({**store, "ssl.cipher.suites": "TLS_NO_WITH_SUITE"})
    with pytest.raises(InvalidConfig, match="has no suite for"):
        serving({**store, "ssl.cipher.suites": suite, "ssl.enabled.protocols": "TLSv1.3"})


@pytest.mark.parametrize(
    ("standard", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
        ("ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-SHA"),
    ],
)
def test_suites_have_other_names_in_openssl(standard: str, openssl: str) -> None:
    assert openssl_suite(standard) == openssl
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(openssl)


def test_trust_stores_are_pem_files_and_pkcs12(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    context = serving(KEY_STORES["PKCS12"](server, authority, tmp_path / "store"))
    pem = _written(tmp_path / "trust.pem", b"a comment\n" + authority.pair.certificate)
    handshake(context, client_context(TlsSettings.from_properties({"ssl.truststore.location": pem})))
    bundle = _written(tmp_path / "trust.p12", pkcs12_trust_store(authority, PASSWORD))
    properties = {"x.ssl.truststore.location": bundle, "x.ssl.truststore.password": PASSWORD}
    handshake(context, client_context(TlsSettings.from_properties(properties, "x.")))


MISTAKES: tuple[tuple[dict[str, str], str], ...] = (
    ({}, "ssl.keystore.location is missing"),
    ({"ssl.keystore.type": "BKS"}, "ssl.keystore.type must be PKCS12 or PEM, but is BKS"),
    ({"ssl.keystore.location": "/nowhere/a.p12"}, "cannot be read: No such file or directory"),
    ({"ssl.keystore.key": "x"}, "ssl.keystore.certificate.chain is not; set both"),
    ({"ssl.keystore.certificate.chain": "x"}, "ssl.keystore.key is not; set both"),
    ({"ssl.keystore.password": PASSWORD}, "ssl.keystore.location is not; set both"),
    ({"ssl.truststore.password": PASSWORD}, "ssl.truststore.location is not; set both"),
    ({"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"}, "TLSv1.1 cannot be enabled"),
    ({"ssl.client.auth": "perhaps"}, "ssl.client.auth must be none, requested or required, but is perhaps"),
    ({"ssl.endpoint.identification.algorithm": "ldaps"}, "must be https or empty"),
)


@pytest.mark.parametrize(("properties", "said"), MISTAKES)
def test_mistakes_are_named(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        serving(properties)
    assert said in str(raised.value)
    assert PASSWORD not in str(raised.value)


def test_a_store_in_javas_format_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    path = _written(tmp_path / "kafka.server.keystore.jks", bytes.fromhex("feedfeed00000002"))
    with pytest.raises(InvalidConfig) as raised:
        serving({"ssl.keystore.location": path, "ssl.keystore.password": PASSWORD})
    converted = tmp_path / "kafka.server.keystore.p12"
    command = f"keytool -importkeystore -srckeystore {path} -destkeystore {converted} -deststoretype PKCS12"
    assert command in str(raised.value)


def test_wrong_passwords_and_damaged_stores(
    authority: DevelopmentAuthority, server: CertificateWithKey, tmp_path: Path
) -> None:
    pkcs12 = KEY_STORES["PKCS12"](server, authority, tmp_path / "store")
    for wrong, said in (("another", "ssl.keystore.password is wrong"), ("", "ssl.keystore.password is missing")):
        with pytest.raises(InvalidConfig, match=said):
            serving({**pkcs12, "ssl.keystore.password": wrong})
    encrypted = KEY_STORES["inline in one line, encrypted"](server, authority, tmp_path)
    with pytest.raises(InvalidConfig, match=r"the password in ssl\.key\.password is wrong"):
        serving({**encrypted, "ssl.key.password": "another"})
    with pytest.raises(InvalidConfig, match=r"encrypted private key: set ssl\.key\.password"):
        serving({**encrypted, "ssl.key.password": ""})
    with pytest.raises(InvalidConfig, match=r"ssl\.keystore\.key has no private key"):
        serving(
            {
                "ssl.keystore.key": server.certificate.decode(),
                "ssl.keystore.certificate.chain": server.certificate.decode(),
            }
        )
    with pytest.raises(InvalidConfig, match="should be PEM"):
        serving({"ssl.keystore.type": "PEM", "ssl.keystore.location": pkcs12["ssl.keystore.location"]})
    with pytest.raises(InvalidConfig, match="is an unknown format"):
        serving({"ssl.keystore.location": _written(tmp_path / "noise", b"noise")})


def test_a_key_must_belong_to_its_certificate(authority: DevelopmentAuthority, server: CertificateWithKey) -> None:
    other = authority.issue("other", hosts=["localhost"])
    with pytest.raises(InvalidConfig, match="the private key does not belong to the first certificate"):
        serving({"ssl.keystore.key": server.key.decode(), "ssl.keystore.certificate.chain": other.certificate.decode()})


def test_a_server_that_asks_for_certificates_needs_a_trust_store(server: CertificateWithKey) -> None:
    inline = {"ssl.keystore.key": server.key.decode(), "ssl.keystore.certificate.chain": server.certificate.decode()}
    with pytest.raises(InvalidConfig, match=r"ssl\.client\.auth=required needs ssl\.truststore\.location"):
        serving({**inline, "ssl.client.auth": "required"})


def test_settings_show_no_secret(server: CertificateWithKey) -> None:
    settings = TlsSettings.from_properties(
        {
            "ssl.keystore.location": "/etc/a.p12",
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
            "ssl.truststore.location": "/etc/b.p12",
            "ssl.truststore.password": PASSWORD,
        }
    )
    assert PASSWORD not in repr(settings)
    assert settings.files == ("/etc/a.p12", "/etc/b.p12")
    assert "PRIVATE KEY" not in repr(TlsSettings(keystore_key=server.key.decode()))


def keytool(*arguments: str) -> None:
    subprocess.run(["keytool", *arguments], check=True, capture_output=True, timeout=HANG_SECONDS)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("keytool") is None, reason="needs keytool, which is a part of Java")
def test_stores_that_keytool_made(tmp_path: Path) -> None:
    """The command in the refusal of a JKS store does what it says."""
    jks, pem, trust = tmp_path / "server.jks", tmp_path / "server.pem", tmp_path / "trust.p12"
    password = ["-storepass", PASSWORD, "-keypass", PASSWORD]
    made = ["-genkeypair", "-alias", "server", "-keyalg", "RSA", "-dname", "CN=server", "-ext", "SAN=dns:localhost"]
    keytool(*made, "-storetype", "JKS", "-keystore", str(jks), *password)
    properties = {"ssl.keystore.location": str(jks), "ssl.keystore.password": PASSWORD}
    with pytest.raises(InvalidConfig) as refused:
        serving(properties)
    command = re.search(r"keytool (.*?); then set ssl\.keystore\.location=(\S+)", str(refused.value))
    assert command is not None
    keytool(*command[1].split(), "-srcstorepass", PASSWORD, "-deststorepass", PASSWORD)
    keytool("-exportcert", "-rfc", "-alias", "server", "-keystore", str(jks), "-storepass", PASSWORD, "-file", str(pem))
    keytool(
        "-importcert", "-noprompt", "-file", str(pem), "-alias", "ca", "-keystore", str(trust), "-storepass", PASSWORD
    )
    context = serving({**properties, "ssl.keystore.location": command[2]})
    trusted = {"ssl.truststore.location": str(trust), "ssl.truststore.password": PASSWORD}
    assert handshake(context, client_context(TlsSettings.from_properties(trusted))).version() == "TLSv1.3"
