"""Memories as Markdown files: roots, front matter, batches, the ledger."""
