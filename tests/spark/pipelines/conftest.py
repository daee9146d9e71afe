from support.database_fixtures import database_url, postgresql_server, postgresql_url, sqlite_url

__all__ = ["database_url", "postgresql_server", "postgresql_url", "sqlite_url"]
