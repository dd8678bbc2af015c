"""SplitNet: a Set Transformer that parts the rows of a cluster in two (section 4.1.2)."""
