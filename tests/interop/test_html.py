"""One HTML file: its program, run by Node, divides text, computes and translates as nmt does; and the page is safe."""

import random
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from nmt.config import ModelConfig
from nmt.data.phrasebook import phrasebook
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.decode.beam import force_score, search
from nmt.decode.pytorch import pad
from nmt.decode.shortlist import Shortlist
from nmt.export import main
from nmt.interop import html as form
from nmt.interop.export import GREEDY, Export
from nmt.model.contract import GenerativeModel
from nmt.text.items import find_items
from nmt.text.normalise import tidy
from nmt.text.sentences import split_sentences
from nmt.translation.model_folder import Facts, ModelInfo, save_model
from nmt.translation.translator import Translator
from tests.interop.foreign import noise
from tests.interop.test_fast_tokenizer import KINDS, odd_lines
from tests.model.settings import OPTIONS, config, useful
from tests.tiny import PAIRS, SHORT, TINY, Stderr, make_model

NODE = pytest.mark.skipif(not form.has_node(), reason="Node is not installed: it runs the program of the page")
CPU = torch.device("cpu")
LINES = [source for source, _ in PAIRS]
IDS = [([5, 9, 110, 7, 6, 20], [4, 9, 9, 120]), ([8], []), ([*range(100, 160)], [*range(200, 215)])]
HOSTILE = ["", " ", "\x00\x00", "\ud800 x \udc00", "\ufffd", "a\u2581b \ufdd0", "▁▁"]
HOSTILE += ["<s> </s> <0x41>", "\u200d\u200b\u0301", "x" * 5000, "Ｈallo \U0010ffff"]
REFUSED = re.compile("family|source_attention")
EXPRESSIBLE = {name: values for name, values in OPTIONS.items() if not REFUSED.fullmatch(name)}


def export_of(tokenizer: Tokenizer, config: ModelConfig, quantization: str = "float32", **facts: Any) -> Export:
    info = ModelInfo("de", "en", "three pairs", config, SHORT, Facts(**facts))
    return Export(noise(make_model(tokenizer, config=config), 0.2), tokenizer, info, quantization)


def written(export: Export, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    form.write(export, folder)
    return folder / form.PAGE


def mixtures(n: int) -> list[ModelConfig]:
    """Models that together have each value of each setting that the page can express."""
    generator = random.Random(1)
    columns = {name: generator.sample((values * n)[:n], n) for name, values in EXPRESSIBLE.items()}
    rows = [{name: column[k] for name, column in columns.items()} for k in range(n)]
    return [config(**useful({"family": "encoder-decoder"} | row)) for row in rows]


@NODE
@pytest.mark.parametrize("mixture", range(6))
def test_all_settings_give_the_same_scores_and_translations(mixture: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    export = export_of(tokenizer, replace(mixtures(6)[mixture], max_positions=450))
    assert form.obstacles(export.info) == []
    page, model = written(export, tmp_path), cast(GenerativeModel, export.model)
    for (source, target), found in zip(IDS, form.run(page, "score", IDS), strict=True):
        expected = force_score(model, *pad([source], CPU), *pad([target], CPU))[0]
        torch.testing.assert_close(torch.tensor(found), expected, atol=1e-4, rtol=0)
    sources = [source for source, _ in IDS[:2]]
    best = [hypothesis.ids for hypothesis, *_ in search(model, *pad(sources, CPU), GREEDY)]
    found = form.run(page, "greedy", [[source, 2.0] for source in sources])
    assert [result["ids"] for result in found] == best


@NODE
@pytest.mark.parametrize("kind", KINDS)
def test_text_is_divided_and_joined_as_sentencepiece_does_it(kind: str, tmp_path: Path) -> None:
    pairs = phrasebook(1, 400, 1).train
    config = replace(KINDS[kind], joint=kind != "unigram with symbols")  # else there are two models
    tokenizer = train_tokenizer(pairs, config, tmp_path / "tokenizer", "de", "en")
    page = written(export_of(tokenizer, replace(TINY, norm_position="pre")), tmp_path)
    lines = [*(line for pair in pairs[:100] for line in pair), *odd_lines(1000), *HOSTILE]
    # Of items, such as addresses and emoji, nmt keeps the characters: the page takes the nearest ones there too.
    lines = [line for line in lines if line.isascii() or all(i.kind == "number" for i in find_items(tidy(line)))]
    assert len(lines) > 600
    expected = tokenizer.encode_source([tidy(line) for line in lines])
    found = form.run(page, "encode", [[line] for line in lines])
    assert [line for line, a, b in zip(lines, found, expected, strict=True) if a != b] == []
    generator = random.Random(1)
    ids = [generator.choices(range(tokenizer.tgt_vocab_size), k=12) for _ in range(500)]
    texts = [tidy(text) for text in tokenizer.decode_target(ids)]
    assert form.run(page, "decode", [[sentence] for sentence in ids]) == texts


@NODE
def test_a_line_is_translated_and_aligned_as_nmt_does_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """With a final mark, sentences, a shortlist and spans that the model can't read at once."""
    config = replace(TINY, norm_position="pre", positions="learned", max_positions=60)
    generator = torch.Generator().manual_seed(1)
    size = (tokenizer.src_vocab_size, 16)
    shortlist = Shortlist(torch.randint(4, tokenizer.tgt_vocab_size, size, generator=generator, dtype=torch.int32))
    export = export_of(tokenizer, config, final_mark=".", longest_source=60)
    info = replace(export.info, search=GREEDY)
    save_model(tmp_path / "model", dict(export.model.named_parameters()), tokenizer, info, "", shortlist)
    page = written(replace(export, info=info, folder=tmp_path / "model"), tmp_path)
    model = cast(GenerativeModel, export.model)
    translator = Translator(model, tokenizer, GREEDY, facts=info.facts, shortlist=shortlist)
    lines = [*LINES, "Wo ist Hund", " Der  Hund \t läuft. Wo?", "Hund " * 100, "", " "]
    lines += ["Er ist z. B. hier. Zwei Männer."]
    found = form.run(page, "translate", [[line] for line in lines])
    for line, [best], result in zip(lines, translator.translate_n_best(lines, markup="none"), found, strict=True):
        assert result["text"] == best.text, line
        words = result["words"]
        assert [word["text"] for word in words] == best.text.split()
        links = {(word["source"], n) for n, word in enumerate(words) if word["source"] >= 0}
        assert links == {*translator.align(line, best)}


@NODE
def test_sentences_end_where_nmt_ends_them(tokenizer: Tokenizer, tmp_path: Path) -> None:
    page = written(export_of(tokenizer, replace(TINY, norm_position="pre")), tmp_path)
    sentences = [line for pair in phrasebook(1, 60, 1).train for line in pair]
    texts = [
        *(" ".join(sentences[n : n + 6 : 2]) for n in range(50)),
        "Am 3. Mai kam Dr. Weber. Er war z. B. müde!  Warum? Niemand weiß es … Gut (am 4. Juni. Abends) so. Ende",
        "Mr. Smith met J. S. Bach. It rained... Perhaps! 他来了。我走了！ok",
        "!" * 5000 + " a. " * 2000,
    ]
    found = form.run(page, "sentences", [[text] for text in texts])
    assert [[(s["part"], s["blank"]) for s in result] for result in found] == [split_sentences(text) for text in texts]


@NODE
def test_a_command_writes_a_checked_page_with_card_and_licence(model_folder: Path, lines: Path, tmp_path: Path) -> None:
    sizes = []
    for quantization in form.QUANTIZATIONS:
        file = tmp_path / f"{quantization}.html"
        options = ["--to", "html", "--quantization", quantization, "--check", str(lines)]
        assert main([str(model_folder), str(file), *options]) == 0
        sizes.append(file.stat().st_size)
        text = file.read_text("utf8")
        assert "Compared with nmt on 4 sentences" in text
        assert quantization == "int8" or "3 of 3 lines are those of nmt" in text
        assert "The model learned from three pairs." in text
        assert "A test." in text
        assert "{{" not in text
        assert is_closed(text)
        assert main([str(model_folder), str(file), *options]) == 2, "the file exists"
    assert sizes[1] < sizes[0]
    assert {path.suffix for path in tmp_path.iterdir()} == {".txt", ".html"}


def is_closed(page: str) -> bool:
    """Whether the policy of a page allows its own scripts and style, and no connection."""
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    inline = re.findall(r"<script(?: id=\"engine\")?>(.*?)</script>|<style>(.*?)</style>", page, re.DOTALL)
    hashes = {f"'sha256-{b64encode(sha256((a or b).encode()).digest()).decode()}'" for a, b in inline}
    allowed = {*re.findall(r"'sha256-[^']*'", policy)}
    own = "".join(a or b for a, b in inline)
    is_risky = re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?:", own)
    return policy.startswith("default-src 'none';") and hashes == allowed and not is_risky


def test_what_a_model_says_is_no_slot_of_the_page(tokenizer: Tokenizer, tmp_path: Path) -> None:
    assert form.in_script("{{card}}") == '"{\\u007bcard}}"'
    export = export_of(tokenizer, replace(TINY, norm_position="pre"))
    written(replace(export, info=replace(export.info, corpus="{{card}}")), tmp_path)
    (tmp_path / "README.md").write_text("My card.")
    (tmp_path / form.SAMPLES).write_text("[]")
    form.pack(tmp_path, stream := BytesIO())
    assert stream.getvalue().count(b"My card.") == 1


def test_without_node_the_card_says_that_nothing_was_compared(
    model_folder: Path, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "has_node", lambda: False)
    assert main([str(model_folder), str(tmp_path / "a.html"), "--to", "html", "--check", str(lines)]) == 0
    text = (tmp_path / "a.html").read_text("utf8")
    assert form.NO_NODE in text
    assert "Compared with nmt on" not in text


def test_weights_that_no_page_can_hold_are_refused(
    model_folder: Path, lines: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr
) -> None:
    monkeypatch.setattr(form, "MOST_BYTES", 1000)
    file = lines.with_suffix(".html")
    command = [str(model_folder), str(file), "--to", "html", "--check", str(lines)]
    assert "too much for a page" in stderr_of(main, command)
    assert not file.exists()
