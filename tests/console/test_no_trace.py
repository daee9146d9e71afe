"""What the pages leave in a cluster: nothing. Brokers create internal topics for whoever asks for a coordinator."""

from __future__ import annotations

import pytest
from support.console_api import ConsoleApi, console_of
from support.console_visits import event, visit

import tidelog
from tidelog import Admin

PAGES = ("overview", "topics", "groups", "transactions", "brokers", "metadata", "pipelines")


async def problem_of(api: ConsoleApi, path: str, name: str) -> str:
    kind, document = event(await visit(api.console.app, f"/api/{path}/live", query=f"id={name}"))
    assert kind == "problem", document
    return str(document["problem"])


@pytest.mark.parametrize("read_only", [False, True])
async def test_looking_creates_no_internal_topics(read_only: bool) -> None:
    async with (
        tidelog.Broker(port=0) as broker,
        Admin(broker.bootstrap_servers) as admin,
        console_of({"bootstrap.servers": broker.bootstrap_servers}, read_only=read_only) as api,
    ):
        for page in PAGES:
            await api.live(f"{page}/live")
        assert await problem_of(api, "group", "nobody") == "missing"
        shown = await api.live("transaction/live", id="nobody")
        assert (shown["described"], shown["timeline"]) == (None, None)
        assert "There is no topic __transaction_state yet" in shown["timeline_problem"]["message"]
        await api.get("transaction/timeline", id="nobody", before=5, expected=404)
        await api.get("group/reset", id="nobody", to="earliest", expected=404)
        if not read_only:
            body = {"id": "nobody", "producer_id": 1, "producer_epoch": 0, "start_ms": None}
            await api.post("transaction/abort", body, expected=404)
            await api.post("group/delete", {"id": "nobody"}, expected=404)
        assert await admin.list_topics() == []
