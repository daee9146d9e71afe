"""The envelope in which a broker passes a client's request to the active controller (KIP-590).

It holds the bytes that the client sent, header included, with the client's principal and address. The controller
decodes them in the version that the client chose, and its reply travels back as the bytes that the client would get
from the controller itself. So no field that exists only in some versions can be lost between two nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import cast

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.principal import Principal
from tidelog.protocol.api import request_class, response_class, response_header_version
from tidelog.protocol.codec import Buffer, ProtocolError, decode, decode_whole, encode
from tidelog.protocol.frames import (
    LENGTH_SIZE,
    parse_request_header,
    peek_request,
    response_frame,
    skip_tagged_fields,
)
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.default_principal_data import DefaultPrincipalData
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.messages.envelope_response import EnvelopeResponse
from tidelog.protocol.schema import Message, covers
from tidelog.security.acls import acl_host
from tidelog.server.declaration import Api

# An envelope is larger than the request in it: by its own header, the principal and the address.
ENVELOPE_ROOM_BYTES = 64 * 1024

_PRINCIPAL_VERSION = 0
_ADDRESS_SIZES = (4, 16)
# For peers that have no address, such as those of a simulated network.
_NO_ADDRESS = bytes(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarded:
    """A client's request, as it was before it went into the envelope."""

    api_key: ApiKey
    version: int
    correlation_id: int
    client_id: str | None
    principal: Principal
    client_address: str
    request: Message

    @property
    def acl_host(self) -> str:
        return acl_host(self.client_address)


def seal(request_data: bytes, principal: Principal, client_host: str) -> EnvelopeRequest:
    """`request_data` is the client's frame without its length."""
    return EnvelopeRequest(
        request_data=request_data,
        request_principal=_principal_bytes(principal),
        client_host_address=_address_bytes(client_host),
    )


def unseal(envelope: EnvelopeRequest, apis: Mapping[int, Api]) -> Forwarded:
    """Raises ApiError with what is wrong with the envelope, in the order of Kafka's checks."""
    principal = _principal(envelope.request_principal)
    if len(envelope.client_host_address) not in _ADDRESS_SIZES:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"an envelope's client address must have 4 or 16 bytes, not {len(envelope.client_host_address)}",
        )
    data = memoryview(envelope.request_data)
    try:
        key, version, correlation_id = peek_request(data)
    except ProtocolError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"the header of a forwarded request: {error}") from error
    api = apis.get(key)
    if api is None or not api.is_forwarded:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"API key {key} is not forwarded in envelopes")
    kind = request_class(key)
    if not covers(api.versions, version):
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION, f"{api.key.title} version {version} is not known to this controller"
        )
    try:
        client_id, body_at = parse_request_header(data, flexible=covers(kind.SCHEMA.flexible, version))
        request, _ = decode(kind, data, version, body_at)
    except ProtocolError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"a forwarded {api.key.title}: {error}") from error
    return Forwarded(
        api_key=api.key,
        version=version,
        correlation_id=correlation_id,
        client_id=client_id,
        principal=principal,
        client_address=str(ip_address(envelope.client_host_address)),
        request=request,
    )


def seal_reply(forwarded: Forwarded, response: Message) -> EnvelopeResponse:
    pieces = response_frame(forwarded.api_key, forwarded.version, forwarded.correlation_id, response)
    # What is forwarded has no records, so nothing is unread.
    return EnvelopeResponse(response_data=b"".join(cast(list[Buffer], pieces))[LENGTH_SIZE:])


def unseal_reply(envelope: EnvelopeResponse, api_key: int, version: int) -> Message:
    """Raises ApiError with the envelope's error, ProtocolError if the reply in it is invalid."""
    if envelope.error_code or envelope.response_data is None:
        raise ApiError(ErrorCode(envelope.error_code), "the controller refused the envelope")
    data = envelope.response_data
    try:
        body_at = skip_tagged_fields(data, 4) if response_header_version(api_key, version) == 1 else 4
    except IndexError as error:
        raise ProtocolError("the header of a forwarded reply is cut short") from error
    return decode_whole(response_class(api_key), data[body_at:], version)


def _principal_bytes(principal: Principal) -> bytes:
    data = DefaultPrincipalData(type=principal.type, name=principal.name)
    return _PRINCIPAL_VERSION.to_bytes(2, "big") + encode(data, _PRINCIPAL_VERSION)


def _principal(data: Buffer | None) -> Principal:
    try:
        if data is None or int.from_bytes(data[:2], "big") != _PRINCIPAL_VERSION:
            raise ProtocolError("its version is unknown")
        value = decode_whole(DefaultPrincipalData, data[2:], _PRINCIPAL_VERSION)
    except ProtocolError as error:
        raise ApiError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, f"the principal of an envelope: {error}") from error
    return Principal(type=value.type, name=value.name)


def _address_bytes(host: str) -> bytes:
    try:
        # Without the zone of a link-local address, which means nothing on another machine.
        return ip_address(host.partition("%")[0]).packed
    except ValueError:
        return _NO_ADDRESS
