"""Cross-attention as a picture: which source pieces the model looked at for each target piece."""

import contextlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from nmt.fields import require
from nmt.files import whole_file
from nmt.reading.request import Translation
from nmt.text.normalise import tidy
from nmt.translation.translator import Translator

CELL, MARGIN, TEXT = 26, 8, 14
FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial Unicode.ttf", "Arial.ttf")
# From white over sky to deep blue: darker is more attention, and it prints in grey.
COLOURS = np.array([[255, 255, 255], [158, 202, 225], [33, 113, 181], [8, 29, 88]], dtype=np.float32)


def attention_picture(weights_TS: Tensor, source: list[str], target: list[str]) -> NDArray[np.uint8]:
    """Draw weights in [0, 1] as an image (height, width, 3): target pieces are rows, source pieces columns."""
    font = find_font()
    source, target = ([piece.replace("▁", "_") for piece in side] for side in (source, target))  # fonts may lack ▁
    left = MARGIN * 2 + int(max(font.getlength(piece) for piece in target))
    top = MARGIN * 2 + int(max(font.getlength(piece) for piece in source))
    image = Image.new("RGB", (left + CELL * len(source) + MARGIN, top + CELL * len(target) + MARGIN), "white")
    place_TS = weights_TS.float().cpu().numpy().clip(0, 1) * (len(COLOURS) - 1)  # linear between these colours
    channels = [np.interp(place_TS, range(len(COLOURS)), COLOURS[:, channel]).round() for channel in range(3)]
    grid = Image.fromarray(np.stack(channels, -1).astype(np.uint8))
    size = CELL * len(source), CELL * len(target)
    image.paste(grid.resize(size, Image.Resampling.NEAREST), (left, top))
    draw = ImageDraw.Draw(image)
    draw.rectangle((left - 1, top - 1, left + size[0], top + size[1]), outline="#bbbbbb")
    for i, piece in enumerate(target):
        draw.text((left - MARGIN, top + CELL * i + CELL // 2), piece, "#222222", font, anchor="rm")
    for i, piece in enumerate(source):
        upright = Image.new("RGB", (top - MARGIN, CELL), "white")
        ImageDraw.Draw(upright).text((0, CELL // 2), piece, "#222222", font, anchor="lm")
        image.paste(upright.rotate(90, expand=True), (left + CELL * i, 0))
    return np.asarray(image)


@cache
def find_font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A font of the system with many scripts, or Pillow's own, which lacks even ö in some versions."""
    for name in FONTS:
        with contextlib.suppress(OSError):
            return ImageFont.truetype(name, TEXT)
    return ImageFont.load_default(size=TEXT)


def pictures_of(translator: Translator, translations: Sequence[Translation]) -> list[Image.Image]:
    """A picture of the attention of each part of translations that has pieces on both sides."""
    maps = [translator.aligner.attention(part) for translation in translations for part in translation.parts]
    return [Image.fromarray(attention_picture(*each)) for each in maps if each[1] and each[2]]


def write_attention(translator: Translator, sentence: str, translation: str | None, file: Path) -> None:
    """Write a PNG file: the attention of a translation (None: the model's own) to its sentence. Raises ValueError if
    one of them is empty or too long, or if not exactly one part of the sentence passes through the model."""
    given = [sentence] if translation is None else [sentence, translation]
    require(all(map(tidy, given)), "the sentence or its translation is empty: there is nothing to draw")
    if translation is None:
        [found] = translator.translate_n_best([sentence])
    else:
        found = [scored for scored in translator.scorer().score([(sentence, translation)]) if scored]
    require(len(found) > 0, "the sentence or its translation is too long for a picture")
    pictures = pictures_of(translator, found[:1])
    require(len(pictures) > 0, "no part of the sentence passes through the model: there is nothing to draw")
    problem = f"the sentence is translated in {len(pictures)} parts: take a shorter one for a picture"
    require(len(pictures) == 1, problem)
    with whole_file(file) as output:
        pictures[0].save(output, "PNG")
