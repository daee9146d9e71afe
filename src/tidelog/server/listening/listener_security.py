"""What one listener asks of its clients: a TLS context, the mechanisms of SASL, or both.

All of it is made when the listener opens, and made again when its properties or its files have changed. Connections
that exist keep what they began with. Listeners without TLS and SASL have none of it, and do not import it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from functools import partial
from typing import NamedTuple

from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import Listener
from tidelog.network.server_connection import RequestService
from tidelog.network.tls import server_context
from tidelog.network.tls_settings import TlsSettings
from tidelog.security.principal_mapping import InvalidMappingRules, PrincipalMapper
from tidelog.server.configuration.tls_properties import listener_tls
from tidelog.server.listening.certificate_gate import CertificateGate
from tidelog.server.listening.mechanisms import ListenerMechanisms
from tidelog.server.listening.sasl_gate import DEADLINE_SECONDS, LARGEST_FRAME_BYTES, Newcomers, SaslGate, SaslRules
from tidelog.server.listening.security_sources import SecuritySources

logger = logging.getLogger(__name__)


class _Stamp(NamedTuple):
    """Changes when a file is replaced or written to."""

    path: str
    inode: int
    size: int
    changed_ns: int


class ListenerSecurity:
    """From `prepare` on, until `stop`."""

    def __init__(self, listener: Listener, sources: SecuritySources) -> None:
        self._listener = listener
        self._sources = sources
        self._config: BrokerConfig | None = None
        self._settings: TlsSettings | None = None
        self._stamps: tuple[_Stamp, ...] = ()
        self._context: ssl.SSLContext | None = None
        self._mapper = PrincipalMapper.of("DEFAULT")
        self._rules: SaslRules | None = None
        self._newcomers = Newcomers()
        self._fetching: list[asyncio.Task[None]] = []

    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        assert self._context is not None, "the listener has no TLS"
        return self._context

    def service_for_connection(self, service: RequestService) -> RequestService:
        if self._rules is not None:
            return SaslGate(service, self._rules, self._newcomers, self._sources.clock, self._sources.ready)
        if self._context is not None:
            return CertificateGate(service, self._mapper)
        return service

    async def prepare(self) -> None:
        """Raises InvalidConfig."""
        config = self._sources.config()
        await self._prepare_tls(config)
        await self._prepare_sasl(config)
        self._config = config

    async def refresh(self) -> None:
        """After a change of the properties or of the files. What is wrong with the new ones is logged, and the old ones
        stay: a mistake must not lock everybody out.
        """
        config = self._sources.config()
        try:
            await self._prepare_tls(config)
            if self._config is not config:
                await self._prepare_sasl(config)
            self._config = config
        except InvalidConfig as error:
            self._config = config
            logger.error("the listener %s keeps its certificates and users: %s", self._listener.name, error)

    def stop(self) -> None:
        for task in self._fetching:
            task.cancel()
        self._fetching = []

    async def _prepare_tls(self, config: BrokerConfig) -> None:
        if not self._listener.protocol.uses_tls:
            return
        settings = self._settings if config is self._config else listener_tls(config, self._listener)
        assert settings is not None
        loop = asyncio.get_running_loop()
        stamps = await loop.run_in_executor(None, _stamps, settings)
        if self._context is not None and settings == self._settings and stamps == self._stamps:
            return
        # Also if they turn out to be wrong: they are not tried again until they change again.
        is_first, self._settings, self._stamps = self._context is None, settings, stamps
        self._mapper = _mapper(config.of_listener(self._listener.name).ssl_principal_mapping_rules)
        self._context = await loop.run_in_executor(None, server_context, settings)
        if not is_first:
            logger.info("the listener %s has new certificates, for new connections", self._listener.name)

    async def _prepare_sasl(self, config: BrokerConfig) -> None:
        if not self._listener.protocol.uses_sasl:
            return
        own = config.of_listener(self._listener.name)
        mechanisms = ListenerMechanisms(
            config,
            self._listener.name,
            credentials=self._sources.credentials,
            randomness=self._sources.randomness,
        )
        for key_set in mechanisms.key_sets:
            await key_set.fetch_first()
        self.stop()
        self._fetching = [asyncio.create_task(each.keep_fetching()) for each in mechanisms.key_sets]
        self._rules = SaslRules(
            mechanisms=mechanisms.enabled,
            frame_bytes=min(own.sasl_server_max_receive_size, LARGEST_FRAME_BYTES),
            failure_delay_ms=own.connection_failed_authentication_delay_ms,
            deadline_seconds=DEADLINE_SECONDS,
            counted=partial(self._sources.metrics.authentication, self._listener.name),
        )


def _mapper(rules: str) -> PrincipalMapper:
    try:
        return PrincipalMapper.of(rules)
    except InvalidMappingRules as error:
        raise InvalidConfig(str(error)) from None


def _stamps(settings: TlsSettings) -> tuple[_Stamp, ...]:
    """In a thread. A file that is not there has no stamp."""
    found = []
    for path in settings.files:
        try:
            stat = os.stat(path)
        except OSError:
            continue
        found.append(_Stamp(path, stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(found)
