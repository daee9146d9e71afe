"""Who a client of a listener with TLS, and without SASL, is: the principal of its certificate, or nobody in particular.

Whether it must have a certificate is decided in the handshake (`ssl.client.auth`).
"""

from __future__ import annotations

import logging

from tidelog.network.server_connection import RequestService, ServerConnection
from tidelog.security.distinguished_names import MalformedCertificate, subject_name
from tidelog.security.principal_mapping import PrincipalMapper

logger = logging.getLogger(__name__)


class CertificateGate:
    """The `RequestService` of all connections to one listener. Only what is new to it knows of certificates."""

    def __init__(self, service: RequestService, mapper: PrincipalMapper) -> None:
        self._service = service
        self._mapper = mapper
        self.answer = service.answer
        self.may_pipeline = service.may_pipeline
        self.frame_limit = service.frame_limit
        self.disconnected = service.disconnected

    def connected(self, connection: ServerConnection) -> bool:
        certificate = connection.peer_certificate()
        if certificate is not None:
            try:
                name = subject_name(certificate)
            except MalformedCertificate as error:
                logger.info("refusing the client at %s: %s", connection.peer_host, error)
                return False
            principal = self._mapper.principal_of(name)
            if principal is None:
                logger.info(
                    "refusing the client at %s: no rule of ssl.principal.mapping.rules is for its certificate's "
                    "subject %s",
                    connection.peer_host,
                    name,
                )
                return False
            connection.authenticated(principal)
        return self._service.connected(connection)
