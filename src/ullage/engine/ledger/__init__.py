"""Promises and what becomes of them: decisions are pure, and history can be replayed."""
