"""The properties `ssl.*` of Kafka's brokers and clients, checked as far as that goes without opening a file.

What is made of them is in `tls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from tidelog.config.definitions import InvalidConfig
from tidelog.model.lazy_dataclasses import dataclass

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
_STORE_TYPES = ("JKS", "PKCS12", "PEM")


class ClientAuthentication(Enum):
    """`ssl.client.auth`: whether a server asks for certificates."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """As in the properties of the same names. Nothing secret is in its repr."""

    # None where nobody said: the file tells.
    keystore_type: str | None = None
    keystore_location: str | None = None
    keystore_password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    # Inline, as PEM.
    keystore_key: str | None = field(default=None, repr=False)
    keystore_certificate_chain: str | None = field(default=None, repr=False)
    truststore_type: str | None = None
    truststore_location: str | None = None
    truststore_password: str | None = field(default=None, repr=False)
    truststore_certificates: str | None = field(default=None, repr=False)
    enabled_protocols: tuple[str, ...] = TLS_VERSIONS
    cipher_suites: tuple[str, ...] = ()
    client_auth: ClientAuthentication = ClientAuthentication.NONE
    # Whether a client compares the server's name with its certificate.
    checks_host_names: bool = True
    # Before the names of properties in errors.
    prefix: str = ""

    @classmethod
    def from_properties(cls, mapping: Mapping[str, str], prefix: str = "") -> TlsSettings:
        """Reads `<prefix>ssl.*`. Raises InvalidConfig with every problem. Files are not opened yet."""
        problems: list[str] = []

        def text(name: str) -> str | None:
            value = mapping.get(f"{prefix}ssl.{name}")
            return value if value is not None and value.strip() else None

        def word(name: str) -> str | None:
            value = text(name)
            return None if value is None else value.strip()

        def words(name: str, default: str) -> tuple[str, ...]:
            return tuple(each.strip() for each in (text(name) or default).split(",") if each.strip())

        settings = cls(
            keystore_type=_store_type(prefix, "keystore", word("keystore.type"), problems),
            keystore_location=word("keystore.location"),
            keystore_password=text("keystore.password"),
            key_password=text("key.password"),
            keystore_key=text("keystore.key"),
            keystore_certificate_chain=text("keystore.certificate.chain"),
            truststore_type=_store_type(prefix, "truststore", word("truststore.type"), problems),
            truststore_location=word("truststore.location"),
            truststore_password=text("truststore.password"),
            truststore_certificates=text("truststore.certificates"),
            enabled_protocols=_versions(prefix, words("enabled.protocols", ",".join(TLS_VERSIONS)), problems),
            cipher_suites=words("cipher.suites", ""),
            client_auth=_client_auth(prefix, word("client.auth"), problems),
            checks_host_names=_checks_host_names(
                prefix, mapping.get(f"{prefix}ssl.endpoint.identification.algorithm"), problems
            ),
            prefix=prefix,
        )
        problems.extend(_key_store_problems(settings))
        problems.extend(_trust_store_problems(settings))
        if problems:
            raise InvalidConfig(*problems)
        return settings

    @property
    def files(self) -> tuple[str, ...]:
        """What the context is made of: when one of these changes, a new context is needed."""
        return tuple(each for each in (self.keystore_location, self.truststore_location) if each is not None)

    def name(self, suffix: str) -> str:
        """The whole name of a property, for errors."""
        return f"{self.prefix}ssl.{suffix}"


def _store_type(prefix: str, store: str, given: str | None, problems: list[str]) -> str | None:
    if given is None or given.upper() in _STORE_TYPES:
        return None if given is None else given.upper()
    problems.append(f"{prefix}ssl.{store}.type must be PKCS12 or PEM, but is {given}")
    return None


def _versions(prefix: str, given: tuple[str, ...], problems: list[str]) -> tuple[str, ...]:
    unknown = [each for each in given if each not in TLS_VERSIONS]
    if unknown:
        problems.append(
            f"{prefix}ssl.enabled.protocols={','.join(given)}: {', '.join(unknown)} cannot be enabled; use TLSv1.2 and "
            "TLSv1.3"
        )
    return given


def _client_auth(prefix: str, given: str | None, problems: list[str]) -> ClientAuthentication:
    for each in ClientAuthentication:
        if each.value == (given or "none").lower():
            return each
    problems.append(f"{prefix}ssl.client.auth must be none, requested or required, but is {given}")
    return ClientAuthentication.NONE


def _checks_host_names(prefix: str, given: str | None, problems: list[str]) -> bool:
    """An empty text is not the default: it means that names are not compared."""
    algorithm = "https" if given is None else given.strip().lower()
    if algorithm not in ("", "https"):
        problems.append(f"{prefix}ssl.endpoint.identification.algorithm must be https or empty, but is {given}")
    return algorithm != ""


def _key_store_problems(settings: TlsSettings) -> list[str]:
    name = settings.name
    location, key, chain = name("keystore.location"), name("keystore.key"), name("keystore.certificate.chain")
    password = name("keystore.password")
    problems: list[str] = []
    if settings.keystore_key is not None:
        if settings.keystore_type not in (None, "PEM"):
            problems.append(f"{key} needs {name('keystore.type')}=PEM, but that is {settings.keystore_type}")
        if settings.keystore_certificate_chain is None:
            problems.append(f"{key} is set, but {chain} is not; set both")
        if settings.keystore_location is not None:
            problems.append(f"{key} and {location} are both set; set only one of them")
    elif settings.keystore_certificate_chain is not None:
        problems.append(f"{chain} is set, but {key} is not; set both")
    if settings.keystore_password is not None:
        if settings.keystore_key is not None or settings.keystore_type == "PEM":
            problems.append(f"{password} is set, but PEM has no such password; use {name('key.password')}")
        elif settings.keystore_location is None:
            problems.append(f"{password} is set, but {location} is not; set both")
    return problems


def _trust_store_problems(settings: TlsSettings) -> list[str]:
    name = settings.name
    location, certificates = name("truststore.location"), name("truststore.certificates")
    password = name("truststore.password")
    problems: list[str] = []
    if settings.truststore_certificates is not None:
        if settings.truststore_type not in (None, "PEM"):
            problems.append(
                f"{certificates} needs {name('truststore.type')}=PEM, but that is {settings.truststore_type}"
            )
        if settings.truststore_location is not None:
            problems.append(f"{certificates} and {location} are both set; set only one of them")
    if settings.truststore_password is not None:
        if settings.truststore_certificates is not None or settings.truststore_type == "PEM":
            problems.append(f"{password} is set, but PEM has no password; remove it")
        elif settings.truststore_location is None:
            problems.append(f"{password} is set, but {location} is not; set both")
    return problems
