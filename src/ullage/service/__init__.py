"""One file for each question: read, ask the engine, report. The only thing the faces call."""
