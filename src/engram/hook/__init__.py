"""What an agent program runs at its own events: JSON on stdin, one JSON object on stdout, never a failure."""
