"""The synchronous `Admin`."""

from __future__ import annotations

from tidelog.client.admin import Admin as AsyncAdmin
from tidelog.client.config import Options, OptionValue, given_options
from tidelog.sync.background import Client, blocking


class Admin(Client[AsyncAdmin]):
    """`with Admin(bootstrap_servers="127.0.0.1:9092") as admin: ...`"""

    def __init__(
        self,
        bootstrap_servers: OptionValue = None,
        *,
        config: Options | None = None,
        call_timeout: float | None = None,
        **options: OptionValue,
    ) -> None:
        """`call_timeout`: seconds after which any call gives up with TimeoutError, whatever the options allow."""
        given = given_options(bootstrap_servers, config, options)
        super().__init__(lambda: AsyncAdmin(config=given), call_timeout)

    start = blocking(AsyncAdmin.start)
    close = blocking(AsyncAdmin.close)
    raise_any = staticmethod(AsyncAdmin.raise_any)

    # Topics
    create_topic = blocking(AsyncAdmin.create_topic)
    create_topics = blocking(AsyncAdmin.create_topics)
    create_partitions = blocking(AsyncAdmin.create_partitions)
    delete_records = blocking(AsyncAdmin.delete_records)
    delete_topics = blocking(AsyncAdmin.delete_topics)
    delete_topics_by_id = blocking(AsyncAdmin.delete_topics_by_id)
    describe_leader_epochs = blocking(AsyncAdmin.describe_leader_epochs)
    describe_log_segments = blocking(AsyncAdmin.describe_log_segments)
    describe_replica_offsets = blocking(AsyncAdmin.describe_replica_offsets)
    describe_topics = blocking(AsyncAdmin.describe_topics)
    list_offsets = blocking(AsyncAdmin.list_offsets)
    list_topics = blocking(AsyncAdmin.list_topics)

    # Configurations
    alter_configs = blocking(AsyncAdmin.alter_configs)
    describe_configs = blocking(AsyncAdmin.describe_configs)

    # Groups
    alter_group_offsets = blocking(AsyncAdmin.alter_group_offsets)
    delete_group_offsets = blocking(AsyncAdmin.delete_group_offsets)
    delete_groups = blocking(AsyncAdmin.delete_groups)
    describe_groups = blocking(AsyncAdmin.describe_groups)
    list_group_offsets = blocking(AsyncAdmin.list_group_offsets)
    list_offsets_of_groups = blocking(AsyncAdmin.list_offsets_of_groups)
    list_groups = blocking(AsyncAdmin.list_groups)
    list_groups_by_broker = blocking(AsyncAdmin.list_groups_by_broker)

    # Transactions
    abort_transaction = blocking(AsyncAdmin.abort_transaction)
    describe_producers = blocking(AsyncAdmin.describe_producers)
    describe_transactions = blocking(AsyncAdmin.describe_transactions)
    find_hanging_transactions = blocking(AsyncAdmin.find_hanging_transactions)
    force_terminate_transaction = blocking(AsyncAdmin.force_terminate_transaction)
    hanging_among = blocking(AsyncAdmin.hanging_among)
    hanging_or_not = blocking(AsyncAdmin.hanging_or_not)
    list_transactions = blocking(AsyncAdmin.list_transactions)
    list_transactions_by_broker = blocking(AsyncAdmin.list_transactions_by_broker)

    # Security
    alter_client_quotas = blocking(AsyncAdmin.alter_client_quotas)
    alter_user_scram_credentials = blocking(AsyncAdmin.alter_user_scram_credentials)
    create_acls = blocking(AsyncAdmin.create_acls)
    delete_acls = blocking(AsyncAdmin.delete_acls)
    describe_acls = blocking(AsyncAdmin.describe_acls)
    describe_client_quotas = blocking(AsyncAdmin.describe_client_quotas)
    describe_user_scram_credentials = blocking(AsyncAdmin.describe_user_scram_credentials)

    # Brokers and replicas
    alter_partition_reassignments = blocking(AsyncAdmin.alter_partition_reassignments)
    alter_replica_log_dirs = blocking(AsyncAdmin.alter_replica_log_dirs)
    broker_versions = blocking(AsyncAdmin.broker_versions)
    describe_cluster = blocking(AsyncAdmin.describe_cluster)
    describe_log_dirs = blocking(AsyncAdmin.describe_log_dirs)
    describe_quorum = blocking(AsyncAdmin.describe_quorum)
    elect_leaders = blocking(AsyncAdmin.elect_leaders)
    list_partition_reassignments = blocking(AsyncAdmin.list_partition_reassignments)
    unregister_broker = blocking(AsyncAdmin.unregister_broker)
