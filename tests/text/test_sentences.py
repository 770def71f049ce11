"""Texts are cut only where a sentence ends, in linear time; translations are joined as their script wants."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.sentences import count_ends, joint, possible_ends, split_clauses, split_sentences

# Each | is a right cut. The cut after "fig. 4." is missed, as after any short number: it may be an ordinal.
RIGHT_CUTS = [
    # ka, hi, ta, th, vi, tr, el, sr, he
    "NATO-ს შტაბი ბრიუსელშია. |საქართველო კავკასიაშია. |ეს კარგია.", "के. एल. राहुल ने शतक बनाया। |वह गया।",
    "எம். ஜி. ராமச்சந்திரன் நடிகர். |அவர் நல்லவர்.", "ดร. สมชาย มาแล้ว",
    "Ở TP. Hồ Chí Minh có PGS. Nam Phương. |Anh ấy đến.", "Doç. Ali ve Yrd. Ayşe geldi. |Kedi uyudu.",
    "Ο Δρ. Παπάς ήρθε. |Πού είναι;", "Манастир Св. Јована је стар. |Он је ту.", "פרופ. כהן הגיע. |הוא כאן.",
    # de
    "Wir treffen uns am 3. Mai im Park. |Komm nicht zu spät!", "Obst, z. B. Äpfel, ist gesund. |Ich esse es gern.",
    "Das gilt z.B. Sonntags nicht.", "Es öffnet um acht.|Das Museum ist zu!|Wir gehen.|Er bleibt.",
    "Wir lesen z.B.Der Hund bellt, Frau Dr.Müller kommt am 3.Mai mit x.Y und Amazon.De hin.",
    "Lies www.beispiel.de/a.Das hier und bericht.Pdf dort; schreib an max.Muster@example.org und ASP.NET hier.",
    "Dr. Müller und Prof. Dr. Anna Weber kommen um 8 Uhr. |Frau Dr. Klein kommt später.",
    "Er wohnt in der Goethestr. 5 in St. Pölten.", "Kaiser Wilhelm II. regierte lange. |Danach kam die Republik.",
    "„Komm her!“, rief sie. |Er kam nicht.", "„Guten Tag. |Wie geht es Ihnen?“, fragte der Arzt.",
    "Er sagte: „Ich gehe. |Du bleibst hier.“ |Dann ging er.", "Er rief „Halt! Stehen bleiben!“ und lief davon.",
    "Die Seite https://example.org/a.b?c=D ist neu. |Lies sie!", "Der Zug fährt um 12.30 Uhr ab. |Beeil dich",
    "Ich weiß nicht... |Vielleicht morgen.", "Das ist ... Wahnsinn!",
    "J. S. Bach lebte in Leipzig. |Er schrieb viele Kantaten.", "ich bin zu hause. |wo bist du? |komm doch vorbei.",
    "Das Buch (Erstausg. 1999. Verlag X) ist vergriffen. |Schade.", "Im Jahr 1990. |Danach kam die Wende.",
    "Bitte öffnen Sie Kap. 3 und lesen Sie Abs. 2 genau.",
    # en
    "Mr. Smith met Mrs. Jones at St. Mary's. |They talked.", "The U.S. Army arrived. |We were glad.",
    "See fig. 3 and p. 5 for details, i.e. Section 2.", "I bought apples, pears, etc. |Then I went home.",
    "He arrived at 5 p.m. and left at once. |Nobody saw him.", '"Where are you?" |"I am here," he said.',
    "The company (Acme Inc. of Ohio) closed. |Sad!", "No. 5 is alive. |I said no. |He left.",
    # fr
    "M. Dupont et Mme Durand sont arrivés. |Ils mangent.", "« Viens ! » cria-t-elle. |Il ne vint pas.",
    "Où vas-tu ? |Je rentre.", "Voir p. 12, chap. 3 et fig. 4. |Merci.", "Je ne sais pas… |Peut-être demain.",
    "Il est né le 1er mai 1980. |Il vit à Lyon.",
    "Des fruits (pommes, poires, etc.) sont sur la table. |Servez-vous.",
    # cs
    "Ing. Novák a Mgr. Dvořáková bydlí v ul. Kpt. Jaroše.", "Kup ovoce, např. Jablka Golden, a chleba. |Děkuji.",
    # ru
    "Он живёт на ул. Ленина в г. Москве. |Это далеко.", "А. С. Пушкин родился в 1799 г. в Москве. |Он был поэтом.",
    "В XIX в. Россия росла.",
    # zh
    "市政厅星期五开门。|博物馆星期一关门。", "你好！|你是谁？|我是老师。", "“你好！”他说。|她笑了。",
    "他说：“我累了。|我要睡觉。”", "价格是3.5元。|太贵了！", "我……不知道。|也许明天吧。",
    "请看www.example.com。|谢谢", "真的？！|我不信。", "你在哪里?|我在家!", "他（小王。我的朋友）来了。|我很高兴。",
    # ja
    "市役所は金曜日に開きます。|博物館は月曜日に閉まります。", "「行くよ。」と彼は言った。|彼女は笑った。",
    "元気ですか？|はい、元気です！|よかった。", "彼は「待って。行かないで。」と言った。", "「はい。」|「どうぞ。」",
    "えーと……わかりません。", "値段は3.5ドルです。|高いですね。", "本当？　|うそでしょう！",
    "これです。|Dr. Smithさんが来た。|終わり",
    # es
    "Vive en EE. UU. con su hermana. |¿Dónde trabaja? |¡No sé!",
    "El Sr. Pérez llegó a las tres. |Dijo: «Vete. |Ya es tarde.»",
    # el
    "Τι κάνεις; |Είμαι καλά. |Ο κ. Παππάς ήρθε.", "Η μέρα ήταν ωραία· έβρεχε όμως; όχι.",
    # am
    "እንዴት ነህ፧ |ደህና ነኝ። |አመሰግናለሁ፡፡ |ሰላም:: |ቻው",
    # hy, mn, sat, mni, cr, km
    "Սա տուն է։ |Ո՞ւր ես: |Գիրքը (մեծ: Հին) այստեղ է:",
    "ᠡᠨᠡ ᠭᠡᠷ᠃ |ᠲᠠ᠂ ᠪᠢ᠃", "ᱚᱲᱟᱜ ᱠᱟᱱᱟ᱾ |ᱟᱢ", "ꯌꯨꯝ ꯑꯁꯤ꯫ |ꯅꯪ", "ᒥᓯᑯᐣ᙮ |ᑖᓂᑌ", "ផ្ទះធំ។|ចប់៕|ផ្ទះ",
    # yo, gn, chr
    "Mo ń lọ sí ilé. |Ṣé o wà níbẹ̀? |Bẹ́ẹ̀ ni.", "Mba'éichapa? |Che aha ógape. |Ko'ẽro aju.",
    "ᎠᏍᎦᏯ ᎤᏪᏅᏒᎩ. |ᎨᏴ ᎤᎷᏨᎩ.",
    # ko, my, haw, ha
    "오늘은 날씨가 좋다. |우리는 간다.", "ဒီနေ့ ကောင်းတယ်။ |အိမ်ပြန်မယ်။", "ʻO au. |ʻAe.", "Sun ƙi. |'Ya'ya suna gida.",
    # hi
    "डॉ. शर्मा 5 कि. मी. दूर हैं। |आप कहाँ हैं?", "प्रा. शर्मा आले. |ते गेले.",
    # ar
    "أين أنت؟ |أنا في البيت.", "وصل د. محمد اليوم. |إنه طبيب.", 'قال: "أنا متعب. |أريد أن أنام."',
]  # fmt: skip
MISSED = "fig. 4. |Merci"

pieces = st.sampled_from(
    [
        "Er", "ist", " ", ". ", "! ", "? ", "...", "…", "„", "“", '"', "(", ")", "3", "z. B.", "。", "？", "「",
        "」", "😀", "\t", "\ud800", "A",
    ]
)  # fmt: skip


@pytest.mark.parametrize("marked", RIGHT_CUTS)
def test_a_text_is_cut_after_its_sentences_only(marked: str) -> None:
    expected = marked.replace(MISSED, MISSED.replace("|", "")).split("|")
    assert [sentence + blank for sentence, blank in split_sentences("".join(marked.split("|")))] == expected


@pytest.mark.parametrize(
    "marked",
    [
        "Die Lampe ist hier|; |Tim holt sie ab.| |Er kommt gleich.",
        "Der Bus kommt gleich| — |Kennen Sie den Jungen?",
        "Er kommt heute an| - |Wir holen ihn; oder nicht.",
        "Das Haus am See — Ein altes Haus — ist heute zu.",
        "Das Haus am See ist zu — seit drei Jahren schon.",
        "Er zahlte 3 — 4 5 6 Euro; 7 8 9 10.",
        "عاد في ساعة متأخرة|؛ |كانت نائمة منذ ساعات.",
    ],
)
def test_clauses_are_cut_where_a_sentence_may_end(marked: str) -> None:
    parts = [*marked.split("|"), ""]
    assert split_clauses("".join(parts)) == list(zip(parts[::2], parts[1::2], strict=True))


def test_blanks_between_sentences_are_kept_apart() -> None:
    text = "Er kam.  Sie ging!\u00a0Wer?\t„Ich.“\u3000Gut。はい"
    assert split_sentences(text) == [
        ("Er kam.", "  "),
        ("Sie ging!", "\u00a0"),
        ("Wer?", "\t"),
        ("„Ich.“", "\u3000"),
        ("Gut。", ""),
        ("はい", ""),
    ]


@settings(max_examples=100, derandomize=True)
@given(st.lists(pieces, max_size=40).map("".join) | st.text())
def test_the_sentences_of_any_text_are_the_text(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join(sentence + blank for sentence, blank in sentences) == text
    assert all(sentence for sentence, _ in sentences) or not text
    assert not any(blank.strip() for _, blank in sentences)
    assert all(0 < end <= len(text) for end in possible_ends(text))


@pytest.mark.parametrize(
    "unit",
    [
        ".", "!", '"', "! ", 'a" ', "(", "([ ", "。", "Ja! ", "z. B. ", "»", "! »", "a.b", " ", "「」", "😀 ", ".\t",
        "a; ", " - A",
    ],
)  # fmt: skip
def test_long_texts_take_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    begin = time.process_time()
    split_clauses(text + "A")
    count_ends(text)
    possible_ends(text + "A")
    assert time.process_time() - begin < 2.5  # 0.03 to 0.8 s; what is quadratic takes 4 s to minutes


@pytest.mark.parametrize(
    ("texts", "most"),
    [
        ([""], 0),
        (["A", "A.", "3.5 a.b"], 1),
        (["A. b", "A?! B...", "你好。你", "Πού είναι; Εδώ.", "ነው:: ነህ፡፡"], 2),
        (['"A!" he said. "B."'], 3),
    ],
)
def test_every_mark_may_end_a_sentence(texts: list[str], most: int) -> None:
    assert [*map(count_ends, texts)] == [most] * len(texts)


@pytest.mark.parametrize(
    ("left", "right", "blank", "amid", "expected"),
    [
        ("He came.", "She left.", " ", False, " "),
        ("He came.", "She left.", "", False, " "),
        ("Il vint.", "Elle part.", "\u00a0", False, "\u00a0"),
        ("He came.", "She left.", "\u3000", False, " "),
        ("He came", "She left.", "; ", False, "; "),
        ("He came.", "She left.", " — ", False, " "),
        ("He said to them,", "She left.", "; ", False, " "),
        ("long", "word", "", True, " "),
        ("你好。", "NATO来了。", " ", False, ""),
        ("“你好！”", "“我来了。”", " ", False, ""),
        ("他说OK!", "我走了", " ", False, " "),
        ("本当？", "うそ！", "\u3000", False, "\u3000"),
        ("He was in 東京.", "She left.", " ", False, " "),
        ("저는 학생입니다.", "당신은요?", " ", False, " "),
        ("สวัสดีครับ", "คุณเป็นใคร", " ", False, " "),
        ("สวัสดี", "ครับ", " ", True, ""),
        ("你好", "吗", "", True, ""),
    ],
)
def test_parts_are_joined_as_the_script_wants(left: str, right: str, blank: str, amid: bool, expected: str) -> None:
    assert joint(left, right, blank, amid=amid) == expected
