"""The weights of f and g that tables on unheard voices are made with: of the split `train` alone.

What ships went on with the voices of all splits, so that it has heard those of `dev-a` and `dev-b`.
"""

MODEL = "train/lstm-compositional"
