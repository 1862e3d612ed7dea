"""Put one part into the text of a file and take it out again: pure functions, text to text, one module per kind."""
