"""One file a format: `SUMMARY`, `matches(text)`, `read(text, source, batch)`."""
