"""The MCP surface: a protocol core of our own, stdio and HTTP adapters, tables of tools."""
