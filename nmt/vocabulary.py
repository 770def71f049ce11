"""The ids that mean the same in every vocabulary of this toolkit, and the pieces that stand for them."""

UNK, BOS, EOS, PAD = 0, 1, 2, 3
SPECIAL_PIECES = ("<unk>", "<s>", "</s>", "<pad>")
"""In the order of their ids."""

FIRST_PIECE = len(SPECIAL_PIECES)
"""The first id that stands for text."""

SPACE = "\u2581"
"""How SentencePiece writes a space in a piece: ▁."""
