"""Conversion of settings and model folders in older formats. Every saved file has a `format` number.

Format 1 had no number, and one section `decoding` instead of `search` and a model's `facts`. Format 2 knew only
encoder–decoders that translate: what it doesn't say has the default of its field.
"""

from typing import Any

from nmt.fields import require

FORMAT = 3
LARGE = "since 8 experts brought 0.2 BLEU of captions, and are for models beyond this toolkit; nmt 1.0.0 reads it"
LATENT = "since rotary positions alone brought 0.4 BLEU more; take model.n_kv_heads, or nmt 1.0.0, which reads it"
FLUENT = "since language models in search had no figure; leave it out, and use such text by back-translation"
FILTERED = "since pairs that the same quality filtered gave 0.5 BLEU more; take data.scorer and data.least_quality"
LIKE = "since no figure showed that it pays; leave it out: cleaning.alike drops pairs that differ in case and digits"
UNPAID = "since no figure showed that it pays; leave it out"
READ = f"{UNPAID}, or take nmt 1.0.0, which reads it"
TUNED = "since no figure showed that another value pays; leave it out"
# Settings that were removed, by their dotted names: their values where they are not used, and why.
REMOVED: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("model.layer_drop", "training.word_dropout", "noise.deletion", "noise.permutation"), (0, UNPAID)),
    **dict.fromkeys(("model.experts", "model.shared_experts"), (0, LARGE)),
    "model.experts_per_token": (2, LARGE),
    "model.expert_balance": ("loss", LARGE),
    "training.balance_weight": (0.01, LARGE),
    "training.balance_rate": (0.001, LARGE),
    "model.share_layers": (1, READ),
    "model.sharing": ("sequence", READ),
    "model.attention": ("heads", LATENT),
    **dict.fromkeys(("model.latent_width", "model.rotary_width"), (None, LATENT)),
    "model.query_latent_width": (0, LATENT),
    "training.subword_sampling": (0, "since it didn't raise BLEU; leave it out"),
    "training.source_loss": (False, "since Zhang et al. 2022 found that it makes translation worse; leave it out"),
    "training.beta1": (0.9, TUNED),
    "training.beta2": (0.98, TUNED),
    "training.muon_rate": (2.0, TUNED),
    "training.average": (1, f"{UNPAID}, or take training.ema"),
    "training.average_of": ("last", TUNED),
    "training.stages": ([], "since no figure showed that it pays; leave it out, and resume the run with other weights"),
    "training.shard": (False, "since models that need it are beyond this toolkit; leave it out"),
    "data.variants": (0, "since it cost 0.8 BLEU of plain text; leave it out, or use an older nmt"),
    **dict.fromkeys(("data.weights", "data.more.weights"), ("", FILTERED)),
    **dict.fromkeys(("cleaning.near", "data.more.cleaning.near"), (None, LIKE)),
    "data.hints": (0, "since it cost 0.5 BLEU of plain text; leave it out, and translate with terms that must occur"),
    "noise.share": (None, TUNED),
    "noise.masked": (0.8, TUNED),
    "noise.random": (0.1, TUNED),
    "noise.mean_span": (3.0, TUNED),
    "noise.false_pairs": (0.5, TUNED),
    "noise.kind": ("infilling", "since its spans made translators 2.4 BLEU worse than none; leave it out"),
    "search.coverage_penalty": (0, UNPAID),
    "search.lm_weight": (0, FLUENT),
    "search.lm_mode": ("fusion", FLUENT),
    "search.terms": ("must", "since hints were met in 86% of lines, and terms that must occur in all; leave it out"),
    "search.mbr": ("none", "since 400 lines of Cherokee had 0.7 to 1.0 chrF less with it; leave it out"),
    "search.cuda_graphs": (False, "since a GPU records the steps of each search; leave it out"),
    "search.shortlist": (0, "since CTranslate2 searches faster without it; leave it out"),
}
REMOVED_VALUES = {  # by the dotted names of their settings, and why
    "model.positions": (("alibi", "relative"), "since no figure showed that it pays; nmt 1.0.0 reads it"),
    "model.norm_position": (("deepnorm",), "since pre learns as much with 24 layers; nmt 1.0.0 reads it"),
}
REMOVED_FROM_DECODING = ("beam_groups", "diversity", "prefix_bias", "least_confidence")  # of format 1's `decoding`


def take_format(values: dict[str, Any], origin: object) -> int:
    """Remove the format number from the values of a file, and return it. Raises ValueError if it is too new."""
    number = values.pop("format", 1)
    newer = f"{origin} has format {number!r}, of a newer nmt: this one reads formats 1 to {FORMAT}"
    require(number in range(1, FORMAT + 1), newer)
    return int(number)


def upgrade_settings(settings: dict[str, Any], *, prepared: bool = False) -> dict[str, Any]:
    """Convert the settings of a recipe or a run. Raises ValueError if a removed setting is in use, unless it matters no
    longer: a run that is `prepared` has its text, and goes on, if model and training need nothing that was removed."""
    settings = dict(settings)
    for section in ("model", "training", "noise", "data", "cleaning", "search"):
        if settings.get(section):
            past = prepared and section in ("data", "cleaning", "search")
            settings[section] = without_removed(settings[section], section, past=past)
    if not settings.get("noise"):  # a section of older versions
        settings.pop("noise", None)
    teachers = (settings.get("training") or {}).get("teacher")
    if isinstance(teachers, list):  # nmt 1.0.0 took several
        problem = f"training.teacher is a list of {len(teachers)} folders: several teachers were removed"
        require(len(teachers) < 2, f"{problem}, since no figure showed that they pay; name one folder")
        settings["training"] = {**settings["training"], "teacher": "".join(map(str, teachers))}
    if not isinstance(settings.get("decoding"), dict):
        return settings
    search = upgrade_decoding(settings.pop("decoding"))
    if search.get("split_above") == 200:  # the default, which training replaces by a measured length
        del search["split_above"]
    return {**settings, "search": search | settings.get("search", {})}


def without_removed(value: Any, name: str = "", *, past: bool = False) -> Any:
    """The value of a setting or, without a name, settings by their dotted names; if it has members or entries, as a
    section and data.more have, these without removed ones. Raises ValueError if one is in use, unless they are of the
    past."""
    if isinstance(value, list):
        return [without_removed(entry, name, past=past) for entry in value]
    if not isinstance(value, dict):
        return value
    kept = dict[str, Any]()
    for field, member in value.items():
        dotted = f"{name}.{field}" if name else field
        if dotted in REMOVED:
            unused, reason = REMOVED[dotted]
            harmless = past and reason != FILTERED  # without its weights a run would go on with other batches
            require(harmless or member == unused, f"{dotted} is {member}: it was removed, {reason}")
        else:
            values, reason = REMOVED_VALUES.get(dotted, ((), ""))
            require(member not in values, f"{dotted} is {member}: it was removed, {reason}")
            kept[field] = without_removed(member, dotted, past=past)
    return kept


def upgrade_record(settings: dict[str, Any]) -> dict[str, Any]:
    """Convert the settings, by their dotted names, of prepared data or a tokenizer. Older ones are of pairs, which no
    pair scorer and no profile has filtered, without changed copies."""
    text = {"data.text": "pairs", "data.scorer": "", "data.least_quality": 0.5}
    text |= dict.fromkeys(["data.typos", "data.placeholders"], 0.0)
    text |= {"cleaning.profile": "none", "data.many_to_many": []}
    settings = without_removed(settings, past=True)
    more, dropped = settings.get("data.more", []), ("weight", "licence")
    more = [{name: value for name, value in entry.items() if name not in dropped} for entry in more]
    return text | settings | {"data.more": more}  # weights and licences are recorded no longer


def val_sets_of(record: dict[str, Any]) -> list[Any]:
    """The val sets in the record of prepared data. Older ones have only the number of pairs of each direction."""
    codes, sizes = record["settings"].get("data", {}).get("many_to_many", []), record.get("val_sizes", [])
    directions = [(a, b) for a in codes for b in codes if a != b]
    return list(record.get("val_sets", [("val", *d, n) for d, n in zip(directions, sizes, strict=False)]))


def upgrade_model_info(info: dict[str, Any], number: int) -> dict[str, Any]:
    """Convert the config.json of a model folder of this format."""
    if isinstance(info["model"], dict):
        model = {name: value for name, value in info["model"].items() if name != "layer_drop"}  # of training alone
        info = {**info, "model": without_removed(model, "model")}
    if number > 1:
        facts = {name: value for name, value in info["facts"].items() if name != "input_ranges"}
        return {**info, "facts": facts, "search": without_removed(info["search"], "search", past=True)}
    decoding = info.pop("decoding")
    search = upgrade_decoding(decoding)
    facts = {"longest_source": search.pop("split_above"), "least_confidence": decoding["least_confidence"]}
    return {**info, "search": search, "facts": facts}


def upgrade_decoding(decoding: dict[str, Any]) -> dict[str, Any]:
    search = {name: value for name, value in decoding.items() if name not in REMOVED_FROM_DECODING}
    return without_removed(search, "search", past=True)
