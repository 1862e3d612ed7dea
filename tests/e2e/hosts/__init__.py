"""Real agent programs against a linked home folder; they need npm and run by `make test-hosts` alone."""
