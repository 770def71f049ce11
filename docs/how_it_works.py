"""A small translator, built step by step from nmt's own parts: the program of the page how-it-works.md.

    .venv/bin/python docs/how_it_works.py        # less than 3 minutes on two cores
    .venv/bin/python docs/how_it_works.py 50     # 50 steps of training: faster, and worse translations

Each part begins with `# %%`, so that editors with notebooks run it alone.
"""

# %% Start
import math
import re
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from nmt.config import ModelConfig, SearchConfig, TokenizerConfig
from nmt.data.batches import make_batch, plan_batches
from nmt.data.phrasebook import phrasebook
from nmt.data.tokenizer import encode_pairs, train_tokenizer
from nmt.decode.beam import search as beam_search
from nmt.model.attention import causal_mask, explicit_attention, padding_mask
from nmt.model.build import build_model
from nmt.model.decoder_only import join
from nmt.scoring.metrics import score
from nmt.vocabulary import BOS, EOS, PAD, UNK

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
torch.manual_seed(1)

# %% 1. Sentence pairs
book = phrasebook(train_pairs=12_000, held_out_pairs=100)
for german, english in book.train[:3]:
    print(f"{german:42} {english}")
print(f"{len(book.train):,} pairs to learn from, {len(book.val)} others to test with")

# %% 2. Pieces
with tempfile.TemporaryDirectory() as folder:
    tokenizer = train_tokenizer(book.train, TokenizerConfig(vocab_size=1500), Path(folder), "de", "en")
for text in (book.val[0][0], "Der Zug heißt Quax."):
    [ids] = tokenizer.encode_source([text])
    print("text   ", text)
    print("pieces ", *tokenizer.source_pieces(ids))
    print("ids    ", *ids)
    print("again  ", *tokenizer.decode_source([ids]))

# %% 3. A batch
pairs = encode_pairs(tokenizer, book.train)
batch = make_batch(pairs, torch.tensor([2, 0]))
print("source, shape", tuple(batch.src_BS.shape))
for row in batch.src_BS.tolist():
    print(*(f"{piece:>4}" if piece != PAD else "   ·" for piece in row))
print("\nthe target of the first pair")
print("the decoder reads  ", *tokenizer.target_pieces(batch.tgt_in_BT[0][batch.tgt_mask_BT[0]].tolist()))
print("and must predict   ", *tokenizer.target_pieces(batch.tgt_out_BT[0][batch.tgt_mask_BT[0]].tolist()))


# %% 4. Two masks
def draw(mask):
    for row in mask:
        print("   ", *("■" if number == 0 else "·" for number in row.tolist()))


like = torch.zeros(1)  # masks are numbers of this type
print("padding mask: a row for each sentence")
draw(padding_mask(batch.src_mask_BS, like)[:, 0, 0])
print("causal mask: a row for each position that looks")
draw(causal_mask(4, like)[0, 0])
print("a hidden place has the number", causal_mask(2, like)[0, 0, 0, 1].item())


# %% 5. Attention
def attention(query, key, value, mask):
    scores = query @ key.T / math.sqrt(query.size(-1)) + mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


x = torch.randn(4, 8)  # 4 positions, each a vector of 8 numbers
mask = causal_mask(4, x)[0, 0]
output, weights = attention(x, x, x, mask)
for row in weights.tolist():
    print("   ", *(f"{weight:.2f}" for weight in row))
of_nmt, _ = explicit_attention(x[None, None], x[None, None], x[None, None], mask, p=0)
print("the same as nmt's attention:", torch.allclose(output, of_nmt[0, 0], atol=1e-6))

other = x.clone()
other[2] += 1  # another vector at position 3
for name, used in (("with the causal mask", mask), ("without a mask", torch.zeros(4, 4))):
    moved = (attention(other, other, other, used)[0] - attention(x, x, x, used)[0]).abs().amax(1) > 1e-6
    print(f"{name}, outputs change at positions", *(n + 1 for n in range(4) if moved[n]))

# %% 6. The model
config = ModelConfig(
    d_model=64, n_heads=4, encoder_layers=2, decoder_layers=2, d_ff=128, norm_position="pre", positions="rotary"
)
model = build_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
for part, modules in model.parts().items():
    tensors = {p for module in modules for p in module.parameters()}  # some are shared
    print(f"{part:11}", f"{sum(p.numel() for p in tensors):>9,} weights")
model.eval()
memory, source_mask = model.encode(batch.src_BS, batch.src_mask_BS)
states = model.decode(batch.tgt_in_BT, memory, source_mask)
logits = model.output(states)
for name, tensor in (("encoder", memory), ("decoder", states), ("logits", logits)):
    print(f"{name:11}", tuple(tensor.shape))


# %% 7. Training
def translation_loss(model, index):
    batch = make_batch(pairs if model.training else held_out, index)
    states = model.target_states(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, batch.tgt_mask_BT)
    return cross_entropy(model.output(states), batch.tgt_out_BT[batch.tgt_mask_BT])


def train(model, loss_of, steps, peak=5e-3):
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    plan, warmup, learned = [], steps // 5, "    "
    print(" step  loss  held out  perplexity")
    for step in range(steps + 1):
        if step % max(1, steps // 6) == 0:
            model.eval()
            with torch.inference_mode():
                tested = loss_of(model, torch.arange(len(held_out))).item()
            print(f"{step:5}  {learned}  {tested:8.2f}  {math.exp(tested):10.1f}  {'█' * round(4 * tested)}")
        plan = plan or plan_batches(pairs.lengths, budget=1000, seed=1, epoch=step)
        model.train()
        loss = loss_of(model, plan.pop())
        optimizer.zero_grad()
        loss.backward()
        rate = peak * min((step + 1) / (warmup + 1), (steps - step) / (steps - warmup))
        for group in optimizer.param_groups:
            group["lr"] = rate
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        learned = f"{loss.item():.2f}"
    model.eval()


held_out = encode_pairs(tokenizer, book.val)
print(f"a guess among {model.vocab_size} pieces has the loss {math.log(model.vocab_size):.2f}")
train(model, translation_loss, STEPS)


# %% 8. Where the decoder looks
@torch.inference_mode()
def show_attention(number):
    batch = make_batch(held_out, torch.tensor([number]))
    layers = []
    model(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, layers)
    weights = torch.stack(layers).mean(dim=(0, 2))[0]  # of all layers and heads
    source = tokenizer.source_pieces(batch.src_BS[0].tolist())
    print(" " * 12, *(f"{piece[:7]:>7}" for piece in source))
    for piece, row in zip(tokenizer.target_pieces(batch.tgt_out_BT[0].tolist()), weights.tolist(), strict=True):
        cells = (f"{weight:8.0%}" if weight > 0.1 else " " * 8 for weight in row)
        print(f"{piece:>12}{''.join(cells)}".rstrip())


show_attention(0)


# %% 9. Greedy search
@torch.inference_mode()
def greedy(text, longest=20):
    source = torch.tensor([[*tokenizer.encode_source([text])[0], EOS]])
    cache, piece, written = model.start(source, torch.ones_like(source).bool(), longest), BOS, []
    while piece != EOS and len(written) < longest:
        logits = model.step(torch.tensor([[piece]]), cache)[0, 0]
        probabilities, best = logits.softmax(dim=-1).topk(2)
        piece = int(best[0])
        written.append(piece)
        two = zip(tokenizer.target_pieces(best.tolist()), probabilities.tolist(), strict=True)
        print("   ", *(f"{name:>10} {probability:6.1%}" for name, probability in two))
    return tokenizer.decode_target([written])[0]


text = book.val[0][0]
print(text)
print(greedy(text))


# %% 10. Beam search
@torch.inference_mode()
def beam(text, size, longest=20):
    source = torch.tensor([[*tokenizer.encode_source([text])[0], EOS]])
    live, finished = [([BOS], 0.0)], []
    while live and len(live[0][0]) < longest:
        rows = torch.tensor([ids for ids, _ in live])
        sources = source.expand(len(live), -1)
        log_probabilities = model(sources, torch.ones_like(sources).bool(), rows)[:, -1].log_softmax(dim=-1)
        longer = [
            ([*ids, piece], total + log_probability)
            for (ids, total), row in zip(live, log_probabilities, strict=True)
            for log_probability, piece in zip(*(best.tolist() for best in row.topk(size)), strict=True)
        ]
        chosen = sorted(longer, key=lambda one: -one[1])[: size - len(finished)]
        for ids, total in [] if finished else chosen:
            print(f"{total:8.2f} ", *tokenizer.target_pieces(ids[1:]))
        finished += [one for one in chosen if one[0][-1] == EOS]
        live = [one for one in chosen if one[0][-1] != EOS]
    best, _ = max(finished or live, key=lambda one: one[1] / (len(one[0]) - 1))
    return tokenizer.decode_target([best])[0]


def search(model, texts, size):
    """nmt's search, for many sentences at once."""
    sources = encode_pairs(tokenizer, [(text, "") for text in texts])
    batch = make_batch(sources, torch.arange(len(texts)))
    options = SearchConfig(beam_size=size)
    return [best[0] for best in beam_search(model, batch.src_BS, batch.src_mask_BS, options)]


texts = [german for german, _ in book.val]
by_greedy, by_beam = search(model, texts, 1), search(model, texts, 4)
others = [n for n in range(len(texts)) if by_greedy[n].ids != by_beam[n].ids]
better = [n for n in others if by_beam[n].log_prob > by_greedy[n].log_prob]
print(f"beam 4 finds another translation for {len(others)} of {len(texts)} sentences, more probable: {len(better)}")
right = [n for n in better if tokenizer.decode_target([by_beam[n].ids])[0] == book.val[n][1]]
shown = min(right or better or others or [0], key=lambda n: len(by_beam[n].ids))
print("\n" + texts[shown])
for name, found in (("greedy", by_greedy[shown]), ("beam 4", by_beam[shown])):
    print(f"{name} {found.log_prob:8.2f}  {tokenizer.decode_target([found.ids])[0]}")
print("reference        ", book.val[shown][1])
print("beam 2, step by step, until one is finished")
by_hand = beam(texts[shown], 2)
[of_nmt] = search(model, texts[shown : shown + 1], 2)
print(by_hand)
print("the same as nmt's beam search:", by_hand == tokenizer.decode_target([of_nmt.ids])[0])


# %% 11. BLEU
def words(text):
    return re.findall(r"[\w'-]+|[^\w\s]", text)


def bleu(translations, references):
    same, total, lengths = Counter(), Counter(), Counter()
    for translation, reference in zip(translations, references, strict=True):
        written, wanted = words(translation), words(reference)
        lengths += Counter(written=len(written), wanted=len(wanted))
        for n in range(1, 5):
            ours, theirs = (Counter(zip(*(side[k:] for k in range(n)), strict=False)) for side in (written, wanted))
            same[n] += (ours & theirs).total()
            total[n] += ours.total()
    shares = [same[n] / max(1, total[n]) for n in range(1, 5)]
    brevity = min(1.0, math.exp(1 - lengths["wanted"] / max(1, lengths["written"])))
    print("shares", *(f"{share:.1%}" for share in shares))
    print(f"words: {lengths['written']} written, {lengths['wanted']} in the references; factor {brevity:.3f}")
    return 100 * brevity * math.prod(shares) ** (1 / 4)


references = [english for _, english in book.val]
translations = tokenizer.decode_target([one.ids for one in by_beam])
print(f"BLEU by hand   {bleu(translations, references):.1f}")
print(f"by sacreBLEU   {score(translations, references, metrics=['bleu'])[0].value:.1f}")
wrong = [n for n in range(len(texts)) if translations[n] != references[n]]
print(f"not equal to the reference: {len(wrong)} of {len(texts)}, for example")
for n in wrong[:2]:
    print(f"  {texts[n]}\n    {translations[n]}\n    {references[n]}")

# %% 12. Decoder-only
batch = make_batch(pairs, torch.tensor([1991]))  # a short pair
ids, starts = join(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, 40)
length = int(starts[0] + batch.tgt_mask_BT[0].sum())
print(*tokenizer.target_pieces(ids[0, :length].tolist()))
prefix = causal_mask(length, like)[0, 0].clone()
prefix[:, : starts[0]] = 0
draw(prefix)
torch.manual_seed(2)
decoder_only = build_model(replace(config, family="decoder-only"), model.vocab_size, model.vocab_size)
train(decoder_only, translation_loss, STEPS)
for name, one in (("encoder–decoder", model), ("decoder-only", decoder_only)):
    written = tokenizer.decode_target([found.ids for found in search(one, texts, 4)])
    value = score(written, references, metrics=["bleu"])[0].value
    print(f"{name:16} {sum(p.numel() for p in one.parameters()):,} weights, BLEU {value:.1f}")


# %% 13. Encoder-only
def hidden_loss(model, index):
    ids, real = (pairs if model.training else held_out).target.padded(index, eos=True)
    hidden = real & (ids != EOS) & (torch.rand(ids.shape) < 0.15)
    states = model.target_states(ids.masked_fill(hidden, UNK), real, ids, hidden)
    return cross_entropy(model.output(states), ids[hidden])


torch.manual_seed(3)
encoder_only = build_model(replace(config, family="encoder-only"), model.vocab_size, model.vocab_size)
train(encoder_only, hidden_loss, STEPS // 2)
ids, real = held_out.target.padded(torch.tensor([1]), eos=True)
place = int(real.sum()) // 2
hidden = torch.zeros_like(real)
hidden[0, place] = True
with torch.inference_mode():
    states = encoder_only.target_states(ids.masked_fill(hidden, UNK), real, ids, hidden)
    probabilities, best = encoder_only.output(states)[0].softmax(dim=-1).topk(3)
shown = tokenizer.target_pieces(ids[0].tolist())
answer, shown[place] = shown[place], "____"
print(*shown[:-1])
guesses = zip(tokenizer.target_pieces(best.tolist()), probabilities.tolist(), strict=True)
print(f"    hidden: {answer}; guesses:", *(f"{name} {probability:.0%}" for name, probability in guesses))
