"""What to buy: the cheapest mix of node types with which everything that is asked for has its place."""
