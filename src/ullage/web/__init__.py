"""The service: an HTTP API and a page over the same questions that the command line asks."""
