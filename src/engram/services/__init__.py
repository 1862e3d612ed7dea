"""Use cases: one function a story, one transaction each."""
