"""SQLite adapter, through apsw."""
