"""What to buy: the cheapest mix of nodes and drives with which everything that is asked for has its place."""
