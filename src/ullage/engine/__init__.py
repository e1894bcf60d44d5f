"""What follows: pure functions of a snapshot and a policy, one folder for each question."""
