"""The special ids, the same in every vocabulary of this toolkit, and the mark of spaces in pieces."""

UNK, BOS, EOS, PAD = 0, 1, 2, 3
SPECIAL_PIECES = ("<unk>", "<s>", "</s>", "<pad>")  # by their ids
FIRST_PIECE = 4  # the first id that stands for text
# Private characters that models may learn to copy (see `nmt.data.copies.placeholders`): for items, and for the
# beginnings and ends of tags. An end has the same number as its beginning.
ITEMS, OPENINGS, CLOSINGS = (
    tuple(map(chr, range(*ends))) for ends in ((0xE000, 0xE006), (0xE006, 0xE00A), (0xE00A, 0xE00E))
)
PLACEHOLDERS = (*ITEMS, *OPENINGS, *CLOSINGS)
SPACE = "\u2581"  # how SentencePiece writes a space in a piece: ▁
