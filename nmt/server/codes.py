"""Codes of languages: what a client writes, or a text, flows in; the code of a model flows out; and names of languages.

A text: if a package that tells languages is installed (see `nmt.text.languages`), it tells. Else only the scripts are
looked at, and so for languages that it doesn't know: Cyrillic text isn't German, but German can't be told from English:
all languages of the models with the text's script are equally probable.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from nmt.text.languages import LATIN, Guess, base_code, identifier, script_of, scripts_of, short_code

MOST_CHARACTERS = 2_000  # of a text, that are looked at
# Codes that clients write, and other codes of the same language.
OTHERS = (
    "no=nb,nn;nb=no;nn=no;tl=fil;fil=tl;sh=sr,hr,bs;pb=pt-br;"
    "zt=zh-hant,zh-tw;zh-cn=zh-hans;zh-sg=zh-hans;zh-tw=zh-hant,zt;zh-hk=zh-hant,zh-tw,zt;zh-hans=zh-cn,zh;"
    "zh-hant=zh-tw,zt"
)
ALIASES = {code: others.split(",") for code, others in (entry.split("=") for entry in OTHERS.split(";"))}
LISTED = (
    "af=Afrikaans;am=Amharic;ar=Arabic;as=Assamese;ast=Asturian;ay=Aymara;az=Azerbaijani;ba=Bashkir;be=Belarusian;"
    "bg=Bulgarian;bm=Bambara;bn=Bengali;bo=Tibetan;br=Breton;bs=Bosnian;ca=Catalan;ceb=Cebuano;chr=Cherokee;"
    "ckb=Central Kurdish;co=Corsican;crh=Crimean Tatar;cs=Czech;cv=Chuvash;cy=Welsh;da=Danish;de=German;dv=Divehi;"
    "dz=Dzongkha;ee=Ewe;el=Greek;en=English;eo=Esperanto;es=Spanish;et=Estonian;eu=Basque;fa=Persian;ff=Fulah;"
    "fi=Finnish;fil=Filipino;fo=Faroese;fr=French;fur=Friulian;fy=Western Frisian;ga=Irish;gd=Scottish Gaelic;"
    "gl=Galician;gn=Guarani;gu=Gujarati;ha=Hausa;haw=Hawaiian;he=Hebrew;hi=Hindi;hr=Croatian;hsb=Upper Sorbian;"
    "ht=Haitian;hu=Hungarian;hy=Armenian;ia=Interlingua;id=Indonesian;ig=Igbo;is=Icelandic;it=Italian;iu=Inuktitut;"
    "ja=Japanese;jv=Javanese;ka=Georgian;kk=Kazakh;km=Khmer;kmr=Northern Kurdish;kn=Kannada;ko=Korean;ks=Kashmiri;"
    "ku=Kurdish;ky=Kyrgyz;la=Latin;lb=Luxembourgish;lg=Ganda;ln=Lingala;lo=Lao;lt=Lithuanian;lv=Latvian;mai=Maithili;"
    "mg=Malagasy;mi=Maori;mk=Macedonian;ml=Malayalam;mn=Mongolian;mni=Manipuri;mr=Marathi;ms=Malay;mt=Maltese;"
    "my=Burmese;nb=Norwegian Bokmål;nds=Low German;ne=Nepali;nl=Dutch;nn=Norwegian Nynorsk;no=Norwegian;nqo=N’Ko;"
    "nso=Northern Sotho;ny=Nyanja;oc=Occitan;om=Oromo;or=Odia;pa=Punjabi;pl=Polish;ps=Pashto;pt=Portuguese;"
    "pt-br=Portuguese (Brazil);qu=Quechua;rm=Romansh;ro=Romanian;ru=Russian;rw=Kinyarwanda;sa=Sanskrit;sat=Santali;"
    "sc=Sardinian;sd=Sindhi;se=Northern Sami;si=Sinhala;sk=Slovak;sl=Slovenian;sm=Samoan;sn=Shona;so=Somali;"
    "sq=Albanian;sr=Serbian;ss=Swati;st=Southern Sotho;su=Sundanese;sv=Swedish;sw=Swahili;ta=Tamil;te=Telugu;tg=Tajik;"
    "th=Thai;ti=Tigrinya;tk=Turkmen;tl=Tagalog;tn=Tswana;tr=Turkish;ts=Tsonga;tt=Tatar;tw=Twi;ug=Uyghur;uk=Ukrainian;"
    "ur=Urdu;uz=Uzbek;ve=Venda;vi=Vietnamese;wo=Wolof;xh=Xhosa;yi=Yiddish;yo=Yoruba;yue=Cantonese;zh=Chinese;"
    "zh-hans=Chinese (simplified);zh-hant=Chinese (traditional);zt=Chinese (traditional);zu=Zulu"
)
NAMES = dict(entry.split("=") for entry in LISTED.split(";"))


def plain(code: str) -> str:
    """A code in lower case, with - between its parts: de for deu, zh-hant for zho_Hant."""
    language, *parts = code.strip().lower().replace("_", "-").split("-")
    return "-".join([short_code(language), *parts])


def find_code(written: str, known: Iterable[str]) -> str | None:
    """The known code of the language that a client wrote; None if there is none.

    Case and _ don't matter, and old and long codes of the same language are known. A code with a region or script
    finds the language without it (pt-BR: pt), and a code without them the first one with them (pt: pt-BR).
    """
    codes = {plain(code): code for code in reversed([*known])}
    code = plain(written)
    base = code.partition("-")[0]
    for wanted in (code, *ALIASES.get(code, ()), base, *ALIASES.get(base, ())):
        if wanted in codes:
            return codes[wanted]
    return next((known for near, known in reversed(codes.items()) if code == near.partition("-")[0]), None)


def name_of(code: str) -> str:
    """The English name of a language; the code itself if it isn't in the list."""
    known = plain(code)
    return NAMES.get(known) or NAMES.get(known.partition("-")[0], code)


def detect(text: str, languages: Sequence[str]) -> list[Guess]:
    """The probable languages of a text among those of the models, best first; empty if it is none of them, or has no
    letters."""
    text = text[:MOST_CHARACTERS]
    if not any(character.isalpha() for character in text):
        return []
    found: dict[str, float] = {}
    found_by = identifier()
    for code, probability in found_by.rank(text) if found_by else ():
        known = find_code(code, languages)
        if known and known not in found:
            found[known] = probability
    if not found:
        known_languages = found_by.languages if found_by else ()
        found = {code: share for code, share in by_script(text, languages) if base_code(code) not in known_languages}
    return sorted(found.items(), key=lambda guess: -guess[1])[:5]


def likeliest(text: str, languages: Sequence[str]) -> Guess:
    """The most probable language of a text; the first one, with no confidence, if nothing is known of it."""
    return (detect(text, languages) or [(languages[0], 0.0)])[0]


def by_script(text: str, languages: Sequence[str]) -> list[Guess]:
    """Guesses by the script alone."""
    counts = Counter(script_of(character) for character in text if character.isalpha())
    [(script, count)] = counts.most_common(1)
    if counts["HIRAGANA"] + counts["KATAKANA"]:  # Japanese has both kana and characters of Chinese
        script, count = "HIRAGANA", counts["HIRAGANA"] + counts["KATAKANA"] + counts["CJK"]
    fitting = [language for language in languages if script in (scripts_of(language) or LATIN)]
    if script == "CJK":  # Korean has no text of Chinese characters alone
        fitting = [language for language in fitting if short_code(language) != "ko"]
    return [(language, count / counts.total() / len(fitting)) for language in fitting]
