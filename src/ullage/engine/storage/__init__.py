"""What local disks offer, and which volume goes where."""
