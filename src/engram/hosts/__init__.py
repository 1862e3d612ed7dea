"""Agent programs: what a link puts into their files, and the one place that edits those files."""
