"""What breaks when nodes are lost: what ran there placed anew, really, and who stays without a place."""
