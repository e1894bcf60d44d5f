"""Shares of teams: what is guaranteed, used and borrowed."""
