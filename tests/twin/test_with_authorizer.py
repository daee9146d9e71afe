"""ACLs on nodes that have an authorizer: the same requests get the same replies, and have the same effect."""

from __future__ import annotations

import pytest
from twin.cases.security import GUARDED
from twin.catalogue import ask_single
from twin.report import report
from twin.runner import Twin

from tidelog.protocol.messages import ApiKey

pytestmark = [
    pytest.mark.maven,
    pytest.mark.slow,
    pytest.mark.xdist_group("jvm"),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest.mark.parametrize("key", list(dict.fromkeys(case.key for case in GUARDED)), ids=lambda key: key.name)
async def test_acls_are_the_same(guarded_node: Twin, key: ApiKey) -> None:
    report(await ask_single(guarded_node, [case for case in GUARDED if case.key is key]))
