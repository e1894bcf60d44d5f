"""What a node can give: reserve, ratio, limit, admission, resize, cache, counters and billing."""
