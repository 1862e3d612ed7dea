"""Pure rules and values: no file, clock, network, SQL or print."""
