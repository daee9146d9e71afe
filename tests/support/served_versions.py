"""Which versions of which APIs a listener serves, for tests that go through all of them."""

from __future__ import annotations

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Versions
from tidelog.server.api.catalogue import served_on
from tidelog.server.declaration import ListenerKind


def versions_on(kind: ListenerKind) -> dict[ApiKey, Versions]:
    return {key: api.versions for key, api in served_on(kind).items()}
