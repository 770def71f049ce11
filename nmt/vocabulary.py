"""The special ids, the same in every vocabulary of this toolkit, and the mark of spaces in pieces."""

UNK, BOS, EOS, PAD = 0, 1, 2, 3
SPECIAL_PIECES = ("<unk>", "<s>", "</s>", "<pad>")  # by their ids
FIRST_PIECE = 4  # the first id that stands for text
# Private characters that models may learn to copy in place of items (see `nmt.data.copies.placeholders`). Models of nmt
# 1.0 know more, for tags.
ITEMS = tuple(map(chr, range(0xE000, 0xE006)))
PLACEHOLDERS = tuple(map(chr, range(0xE000, 0xE00E)))
SPACE = "\u2581"  # how SentencePiece writes a space in a piece: ▁
