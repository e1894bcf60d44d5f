"""What things are: frozen records and exact integers, without any knowledge of the outside world."""
