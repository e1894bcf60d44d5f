"""Where observations come from: tables, Prometheus, the metrics API, and this host."""
