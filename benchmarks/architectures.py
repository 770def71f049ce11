"""Drawings of the families of models, for docs/architectures.md: no input, SVG files flow out.

    python -m benchmarks.architectures

Data flows upwards. A mask is drawn as squares: rows are queries, columns are keys, and a query may attend where the
square is filled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.pictures import MARGIN, PICTURES, STYLE, WIDTH, rectangle, svg, text
from benchmarks.rows import run_script

BOX, GAP, SQUARE = 44, 30, 7
DRAWING_STYLE = f"""{STYLE}
.box {{ fill: #f6f8fa; stroke: #59636e }}
.frame {{ fill: none; stroke: #59636e; stroke-dasharray: 4 3 }}
.flow {{ fill: none; stroke: #1f2328; stroke-width: 1.5 }}
.tip {{ fill: #1f2328 }}
@media (prefers-color-scheme: dark) {{
  .box {{ fill: #151b23; stroke: #9198a1 }}
  .frame {{ stroke: #9198a1 }}
  .flow {{ stroke: #f0f6fc }}
  .tip {{ fill: #f0f6fc }}
}}
"""

Mask = Callable[[int, int], bool]
"""Whether a query (row) may attend to a key (column)."""

Sublayer = tuple[str, str, Mask | None, tuple[int, int]]
"""Label, note, mask (None: none is drawn), and the rows and columns of the mask."""


def main() -> int:
    for name, drawing in DRAWINGS.items():
        (PICTURES / f"{name}.svg").write_text(drawing(), encoding="utf8")
    return 0


def everything(query: int, key: int) -> bool:
    return True


def causal(query: int, key: int) -> bool:
    return key <= query


def prefix(query: int, key: int) -> bool:
    """Bidirectional over the first five positions, the source with BOS and EOS, and causal after them."""
    return key <= query or max(query, key) < 5


def squares(x: float, y: float, size: tuple[int, int], mask: Mask, side: float = SQUARE) -> list[str]:
    """A mask of (rows, columns), whose upper left corner is at (x, y)."""
    rows, columns = size
    shown = [
        rectangle(x + side * key, y + side * query, side, side, "nmt")
        for query in range(rows)
        for key in range(columns)
        if mask(query, key)
    ]
    lines = "".join(f"M{x:.1f} {y + side * row:.1f}h{side * columns:.1f}" for row in range(rows + 1))
    lines += "".join(f"M{x + side * column:.1f} {y:.1f}v{side * rows:.1f}" for column in range(columns + 1))
    return [*shown, f'<path class="grid" d="{lines}"/>']


def arrow(*points: tuple[float, float]) -> list[str]:
    """A line through the points, with its tip at the last: upwards, or to the right if the last two are level."""
    (x, y), before = points[-1], points[-2]
    tip = [(x - 4, y + 7), (x + 4, y + 7)] if y != before[1] else [(x - 7, y - 4), (x - 7, y + 4)]
    line, triangle = (" L".join(f"{px:.1f} {py:.1f}" for px, py in path) for path in (points, [(x, y), *tip]))
    return [f'<path class="flow" d="M{line}"/>', f'<path class="tip" d="M{triangle}Z"/>']


@dataclass
class Column:
    """Boxes one above another, drawn from the bottom upwards; `turn`: side of the residual connections, −1 is left."""

    x: float
    y: float
    """Where the next part ends below."""
    width: float = 230
    turn: int = -1
    parts: list[str] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    def words(self, label: str) -> None:
        self.parts.append(text(self.middle, self.y - 6, label, "middle"))
        self.y -= 20

    def up(self) -> None:
        self.parts += arrow((self.middle, self.y), (self.middle, self.y - GAP + 4))
        self.y -= GAP - 4

    def box(self, label: str, note: str, mask: Mask | None = None, size: tuple[int, int] = (5, 5)) -> float:
        """A box; returns the height of its middle."""
        top = self.y - BOX
        outline = f'<rect class="box" x="{self.x:.1f}" y="{top:.1f}" width="{self.width:.1f}" height="{BOX}" rx="5"/>'
        self.parts += [outline, text(self.x + 12, top + 19, label), text(self.x + 12, top + 35, note, "note")]
        if mask is not None:
            rows, columns = size
            corner = self.x + self.width - 10 - SQUARE * columns, top + (BOX - SQUARE * rows) / 2
            self.parts += squares(*corner, size, mask)
        self.y = top
        return top + BOX / 2

    def sublayer(self, label: str, note: str, mask: Mask | None = None, size: tuple[int, int] = (5, 5)) -> float:
        """A box with its residual connection, which leaves below it and is added above it."""
        below = self.y + 13
        place = self.box(label, note, mask, size)
        edge = self.middle + self.turn * (self.width / 2 + 14)
        plus, radius = self.y - 14, 7
        self.parts.append(f'<path class="flow" d="M{self.middle:.1f} {self.y:.1f}V{plus + radius:.1f}"/>')
        end = self.middle + self.turn * radius
        self.parts.append(f'<path class="flow" d="M{self.middle:.1f} {below:.1f}H{edge:.1f}V{plus:.1f}H{end:.1f}"/>')
        self.parts.append(f'<circle class="box" cx="{self.middle:.1f}" cy="{plus:.1f}" r="{radius}"/>')
        self.parts.append(f'<path class="flow" d="M{self.middle - 4:.1f} {plus:.1f}h8m-4 -4v8"/>')
        self.y = plus - radius
        return place

    def block(self, name: str, times: Sequence[str], *sublayers: Sublayer) -> list[float]:
        """A framed block, with its class and how often it is repeated; returns the heights of its boxes' middles."""
        bottom, places = self.y - GAP / 2, []
        for number, sublayer in enumerate(sublayers):
            start = self.y
            self.y -= GAP - 4 if number else GAP + 14
            self.parts += arrow((self.middle, start), (self.middle, self.y))
            places.append(self.sublayer(*sublayer))
        top = self.y - 10 - 14 * len(times)
        outline = f'<rect class="frame" x="{self.x - 26:.1f}" y="{top:.1f}" width="{self.width + 52:.1f}"'
        self.parts.append(f'{outline} height="{bottom - top:.1f}" rx="8"/>')
        self.parts.append(text(self.x, top + 16, name, "note"))
        self.parts += [text(self.middle + 14, top + 16 + 14 * row, words, "note") for row, words in enumerate(times)]
        self.parts.append(f'<path class="flow" d="M{self.middle:.1f} {self.y:.1f}V{top:.1f}"/>')
        self.y = top
        return places


FEED_FORWARD: Sublayer = ("feed-forward", "layers.py: FeedForward", None, (5, 5))
RESIDUAL = "⊕ residual with norm, before the sublayer (pre) or after the sum (post): blocks.py, Residual"
SQUARES = "squares: rows are queries, columns are keys; filled: the query may attend to the key"


def self_attention(mask: Mask | None) -> Sublayer:
    return "self-attention", "attention.py: SelfAttention", mask, (5, 5)


def begin(column: Column, words: str) -> None:
    column.words(words)
    column.up()
    column.box("embedding + positions", "embed in contract.py, positions.py")


def end(column: Column, norm: str, words: str) -> None:
    column.up()
    column.box("norm, then output layer", f"{norm}, if pre; output")
    column.up()
    column.words(words)


def drawing(height: float, about: str, place: str, parts: Sequence[str]) -> str:
    """A whole drawing: its title, the place of the code, and the notes at the end."""
    notes = [text(MARGIN, 30, about, "title"), text(MARGIN, 48, place, "note")]
    notes += [text(MARGIN, height - 38, RESIDUAL, "note"), text(MARGIN, height - 20, SQUARES, "note")]
    return svg(WIDTH, height, about, [*notes, *parts], DRAWING_STYLE)


def encoder_decoder() -> str:
    height, base = 660, 590
    encoder, decoder = Column(MARGIN + 26, base), Column(WIDTH - MARGIN - 256, base, turn=1)
    begin(encoder, "source </s>")
    begin(decoder, "<s> target")
    encoder.block("Block", ["× encoder_layers"], self_attention(everything), FEED_FORWARD)
    looking: Sublayer = ("attention to the source", "attention.py: CrossAttention", everything, (4, 5))
    times = ["× decoder_layers"]
    _, place, _ = decoder.block("DecoderBlock", times, self_attention(causal), looking, FEED_FORWARD)
    encoder.up()
    encoder.box("norm", "encoder_norm, if pre")
    turn, above = (encoder.x + encoder.width + decoder.x) / 2, encoder.y - 18
    start = encoder.middle, encoder.y
    joint = arrow(start, (encoder.middle, above), (turn, above), (turn, place), (decoder.x, place))
    end(decoder, "decoder_norm", "logits of the next pieces")
    about = "Encoder–decoder: one stack reads the source, another writes the target"
    parts = [*encoder.parts, *decoder.parts, *joint]
    return drawing(height, about, "encoder_decoder.py: EncoderDecoder", parts)


def mask_panel(x: float, y: float, label: str, mask: Mask, pieces: Sequence[str]) -> list[str]:
    """A large mask with the piece of each row and column."""
    side, n = 18, len(pieces)
    parts = [text(x, y, label), *squares(x + 40, y + 46, (n, n), mask, side)]
    for number, piece in enumerate(pieces):
        place = side * (number + 0.5)
        parts.append(text(x + 34, y + 46 + place + 4, piece, "note end"))
        parts.append(text(x + 40 + place + 4, y + 40, piece, "note", turn=-90))
    return parts


def decoder_only() -> str:
    column = Column(MARGIN + 26, 510)
    begin(column, "<s> source </s> <s> target")
    column.block("Block", ["× (encoder_layers", "+ decoder_layers)"], self_attention(None), FEED_FORWARD)
    end(column, "decoder_norm", "logits of the next target pieces")
    pieces = ["<s>", "s1", "s2", "s3", "</s>", "<s>", "t1", "t2"]
    panels = mask_panel(400, 90, "source_attention: bidirectional", prefix, pieces)
    panels += mask_panel(400, 316, "source_attention: causal", causal, pieces)
    about = "Decoder-only: source and target are one sequence"
    return drawing(580, about, "decoder_only.py: DecoderOnly", [*column.parts, *panels])


def encoder_only() -> str:
    column = Column(MARGIN + 26, 500)
    begin(column, "text </s>")
    column.block("Block", ["× encoder_layers"], self_attention(None), FEED_FORWARD)
    end(column, "encoder_norm", "logits of the pieces to predict")
    panel = mask_panel(400, 200, "every position sees all others", everything, ["s1", "s2", "s3", "s4", "s5", "</s>"])
    about = "Encoder-only: a text is read in both directions"
    return drawing(570, about, "encoder_decoder.py: EncoderOnly", [*column.parts, *panel])


DRAWINGS = {"encoder-decoder": encoder_decoder, "decoder-only": decoder_only, "encoder-only": encoder_only}

if __name__ == "__main__":
    run_script(main)
