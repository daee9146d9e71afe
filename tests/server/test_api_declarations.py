"""What the APIs declare: each key once, a handler on each of its listeners, and just that is advertised."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support.nodes_in_process import nodes
from support.raw_client import raw_client
from twin.differences import EVERY_API, TABLE

import tidelog.server.api
from tidelog.protocol.api import schema_versions
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.server.api.catalogue import APIS, served_on
from tidelog.server.declaration import Api, Forwarding, ListenerKind
from tidelog.server.routing.router import Router


def test_every_declaration_is_in_the_catalogue_once_in_the_order_of_the_keys() -> None:
    names = [each.name for each in pkgutil.iter_modules(tidelog.server.api.__path__)]
    modules = [import_module(f"tidelog.server.api.{name}") for name in names]
    declared = [module.API for module in modules if isinstance(getattr(module, "API", None), Api)]
    assert sorted(declared, key=lambda api: api.key) == list(APIS)
    assert len({api.key for api in APIS}) == len(APIS)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.title)
def test_a_declaration_is_in_the_module_that_has_the_name_of_its_api(api: Api) -> None:
    name = api.key.name.lower()
    assert import_module(f"tidelog.server.api.{name}").API is api
    # A compiled module has no docstring.
    source = (Path(tidelog.server.api.__path__[0]) / f"{name}.py").read_text()
    assert (ast.get_docstring(ast.parse(source)) or "").startswith(api.key.title)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.title)
def test_only_versions_that_the_schemas_describe_are_served(api: Api) -> None:
    first, last = schema_versions(api.key)
    assert first <= api.versions[0] <= api.versions[1] <= last
    assert (api.advertised_from is None) == (api.refuse_older is None)
    if api.forwarding is not Forwarding.NOTHING:
        assert api.listeners == set(ListenerKind)


@pytest.mark.plain_python
async def test_what_is_declared_is_advertised_and_has_a_handler_on_both_listeners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[set[ApiKey], set[ApiKey]]] = []

    def init(self: Router, *, apis: Any, handlers: Any, **options: Any) -> None:
        built.append((set(apis), set(handlers)))
        original(self, apis=apis, handlers=handlers, **options)

    original = Router.__init__
    monkeypatch.setattr(Router, "__init__", init)
    async with nodes(tmp_path, {1: "broker,controller"}) as cluster:
        voter = cluster.config(1).controller_quorum_voters[0]
        addresses = {
            ListenerKind.BROKER: cluster.address(1),
            ListenerKind.CONTROLLER: f"{voter.host}:{voter.port}",
        }
        for kind, address in addresses.items():
            async with raw_client(address) as client:
                reply = await client.ask(
                    ApiVersionsRequest(client_software_name="test", client_software_version="1"), 3
                )
            advertised = {each.api_key: (each.min_version, each.max_version) for each in reply.api_keys}
            assert advertised == {key: api.advertised for key, api in served_on(kind).items()}
    assert len(built) == len(ListenerKind)
    for apis, handlers in built:
        assert apis == handlers


def test_the_page_about_compatibility_is_not_stale() -> None:
    command = [sys.executable, str(Path(__file__).parents[2] / "tools" / "generate_compatibility.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.title)
def test_an_api_whose_replies_differ_from_those_of_kafka_says_so(api: Api) -> None:
    if any(api.key in entry.keys for entry in TABLE if entry.keys is not EVERY_API):
        assert api.differences
