"""Tables of tools as data."""
