"""Attention pictures: one cell for each pair of pieces, darker where there is more attention."""

import torch

from nmt.translation.pictures import CELL, attention_picture


def test_each_weight_has_its_cell_and_more_is_darker() -> None:
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3]])
    image = attention_picture(weights, ["▁ein", "▁Hütchen", "</s>"], ["▁a", "</s>"])
    height, width, channels = image.shape
    assert channels == 3
    left, top = width - 8 - 3 * CELL, height - 8 - 2 * CELL
    brightness = [
        [int(image[top + CELL * t + CELL // 2, left + CELL * s + CELL // 2].sum()) for s in range(3)] for t in range(2)
    ]
    assert brightness[0][1] == brightness[0][2] == 3 * 255, "no attention is white"
    assert brightness[0][0] < brightness[1][1] < brightness[1][2] < brightness[1][0] < 3 * 255
    assert image[:top, left:].min() < 100, "the source is written above"
    assert image[top:, : left - 4].min() < 100, "the target is written at the left"
