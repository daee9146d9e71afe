"""Kafka's own tools, pointed at a controller of tidelog (`--bootstrap-controller`, KIP-919)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.apache_kafka import run_tool
from support.nodes_in_process import nodes

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm"), pytest.mark.slow]


OF_ONE = ("--entity-name", "1")


async def test_kafkas_tools_work_through_a_controller(jars: Path, tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: "broker,controller", 2: "broker,controller", 3: "broker,controller"}) as cluster:
        leading = cluster.controller()
        voters = cluster.config(1).controller_quorum_voters
        # One that is not active: the tools must find the one that is.
        address = next(f"{voter.host}:{voter.port}" for voter in voters if voter.id != leading)

        async def tool(main_class: str, *arguments: str) -> str:
            done = await asyncio.to_thread(run_tool, jars, main_class, *arguments)
            return done.stdout.decode()

        to = ("--bootstrap-controller", address)

        quorum, features, configs, _, described = await asyncio.gather(
            tool("org.apache.kafka.tools.MetadataQuorumCommand", *to, "describe", "--status"),
            tool("org.apache.kafka.tools.FeatureCommand", *to, "describe"),
            tool("kafka.admin.ConfigCommand", *to, "--describe", "--all", "--entity-type", "brokers", *OF_ONE),
            tool(
                *("kafka.admin.ConfigCommand", *to, "--alter", "--entity-type", "brokers", "--entity-default"),
                *("--add-config", "log.cleaner.threads=2"),
            ),
            tool("org.apache.kafka.tools.ClusterTool", "cluster-id", *to),
        )
        assert ["LeaderId:", str(leading)] in [line.split() for line in quorum.splitlines()]
        assert "Feature: metadata.version" in features
        assert "controller.quorum.voters=" in configs
        image = cluster.running[leading or 1].node.image
        assert image.cluster_id in described
        assert image.cluster_config()["log.cleaner.threads"] == "2"
