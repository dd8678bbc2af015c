"""Many recordings, or many channels of one: what is done with a list of them."""
