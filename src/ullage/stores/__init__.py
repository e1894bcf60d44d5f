"""Durable state behind one protocol: what was promised is on disk before anybody is told."""
