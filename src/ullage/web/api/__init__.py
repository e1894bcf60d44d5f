"""What can be asked over HTTP, one module per subject: each has a tuple of ROUTES."""
