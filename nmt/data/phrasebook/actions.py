"""What people do: verbs with the objects that make sense of them, and the uses (habit, plan, duty …) each is good for.

In flow a random generator and a subject, out flows a `Clause` such as "meine Mutter – eine Suppe kochen". The tables
say which nouns each verb takes, in which case and with which determiner, in both languages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Protocol

from nmt.data.phrasebook import german, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import DATIVE, INDEFINITE, MANNER, OBJECT, PLACE, Clause, Piece
from nmt.data.phrasebook.german import ACC, DAT
from nmt.data.phrasebook.phrases import BARE, NO, THE, A, Determiner, Phrase, noun_phrase
from nmt.data.phrasebook.words import Action, Noun, Place, action, pairs

OWN = Determiner("", "none", "one's own")
"""Stands in a table for the possessive of whoever the subject turns out to be."""


OWNER = "~"
"""Stands in ready English words for the possessive: "brush ~ teeth"."""


class Slot(Protocol):
    """An open place beside a verb."""

    def piece(self, rng: Random, subject: Phrase) -> Piece:
        """Fills the place with something that goes with the subject."""
        ...


@dataclass(frozen=True)
class Thing:
    """An object: a noun of a class, in a case or behind a preposition."""

    nouns: Sequence[Noun]
    determiner: Determiner
    case: int = ACC
    prepositions: tuple[str, str] = ("", "")
    plural: bool = False
    each: bool = False
    """True of what everyone has for himself: he puts on his coat, they put on their coats."""

    def piece(self, rng: Random, subject: Phrase) -> Piece:
        determiner = (subject.possessor or THE) if self.determiner is OWN else self.determiner
        plural = self.plural or (self.each and subject.gender == "p")
        return thing(rng.choice(self.nouns), determiner, plural, self.case, self.prepositions)


@dataclass(frozen=True)
class Person:
    """Somebody in the subject's life."""

    case: int = ACC
    prepositions: tuple[str, str] = ("", "")
    circle: people.Circle = "own"

    def piece(self, rng: Random, subject: Phrase) -> Piece:
        whom = people.someone_of(rng, subject, self.circle)
        return person_piece(whom, self.case, self.prepositions)


@dataclass(frozen=True)
class Whereabouts:
    """A place to be at ("im Park") or to go to ("in den Park")."""

    places: Sequence[Place]
    is_goal: bool

    def piece(self, rng: Random, subject: Phrase) -> Piece:
        return place_piece(rng.choice(self.places), self.is_goal)


@dataclass(frozen=True)
class Fixed:
    """Words that come ready in both languages, with an optional preposition each."""

    choices: Sequence[tuple[str, str]]
    prepositions: tuple[str, str] = ("", "")
    slot: int = PLACE
    negative: str = ""

    def piece(self, rng: Random, subject: Phrase) -> Piece:
        words, meaning = rng.choice(self.choices)
        before, english_before = self.prepositions
        possessive = subject.possessor.english if subject.possessor else "the"
        text = f"{english_before} {meaning.replace(OWNER, possessive)}".strip()
        return Piece(self.slot, f"{before} {words}".strip(), text, self.negative, text, (words,))


@cache
def thing(noun: Noun, determiner: Determiner, plural: bool, case: int, prepositions: tuple[str, str]) -> Piece:
    phrase = noun_phrase(determiner, noun, plural=plural)
    before, english_before = prepositions
    text = f"{english_before} {phrase.english}".strip()
    if before:
        # Not contracted: "an das Gespräch", where a place would have "ans".
        return Piece(PLACE, f"{before} {phrase.german[case]}", text, words=(noun.german,))
    if determiner in (A, BARE) and case == ACC:
        negative = noun_phrase(NO, noun, plural=plural)
        english_negative = f"any {phrase.english}" if determiner is BARE else text
        return Piece(INDEFINITE, phrase.german[ACC], text, negative.german[ACC], english_negative, (noun.german,))
    return Piece(DATIVE if case == DAT else OBJECT, phrase.german[case], text, words=(noun.german,))


def person_piece(phrase: Phrase, case: int, prepositions: tuple[str, str] = ("", "")) -> Piece:
    """A person as an object, in a case or behind a preposition."""
    before, english_before = prepositions
    words = german.with_preposition(before, phrase.german[case]) if before else phrase.german[case]
    slot = PLACE if before else DATIVE if case == DAT else OBJECT
    return Piece(slot, words, f"{english_before} {phrase.english_object}".strip(), words=phrase.head)


@cache
def place_piece(place: Place, is_goal: bool) -> Piece:
    """ "im Park" – "in the park", or "in den Park" – "to the park"."""
    phrase = noun_phrase(THE, place.noun)
    preposition = place.whither if is_goal else place.where
    case = ACC if is_goal and preposition != "zu" else DAT
    english_preposition = "to" if is_goal else place.english_where
    words = german.with_preposition(preposition, phrase.german[case])
    return Piece(PLACE, words, f"{english_preposition} {phrase.english}", words=(place.noun.german,))


@dataclass(frozen=True, eq=False)
class Frame:
    """A verb with its open places, what it can be used for, and who does it."""

    action: Action
    uses: str
    slots: tuple[Slot, ...]
    age: people.Age

    @property
    def needs_owner(self) -> bool:
        """True where English says "her teeth" for "die Zähne"; of a child it would have to guess."""
        return any(isinstance(slot, Fixed) and OWNER in slot.choices[0][1] for slot in self.slots)

    def suits(self, subject: Phrase) -> bool:
        """False where the pair would be odd: a waiter who works in a pharmacy."""
        if self.needs_owner and subject.possessor is None:
            return False
        return self.action.word != "arbeiten" or not people.is_named_by_trade(subject)

    def clause(self, rng: Random, subject: Phrase) -> Clause:
        return Clause(subject, self.action, tuple(slot.piece(rng, subject) for slot in self.slots))


def anyone(verb: str, uses: str, *slots: Slot) -> Frame:
    return Frame(action(verb), uses, slots, "any")


def adults(verb: str, uses: str, *slots: Slot) -> Frame:
    return Frame(action(verb), uses, slots, "adult")


def frame_for_young(verb: str, uses: str, *slots: Slot) -> Frame:
    return Frame(action(verb), uses, slots, "young")


def fixed_words(line: str) -> Fixed:
    return Fixed(pairs(line))


# The letters say in which sentences a verb with its objects is natural:
#   h habit (jeden Tag, oft)   n now (gerade)           p plan (morgen)      d done (gestern)     j schon, noch nicht
#   s simple present, bare     g present, bare, in English progressive       w wish (wollen)      m duty (müssen)
#   c ability (können)         i request                e noch nie           l gern, lieber
#   t seit, schon lange        y warum (for what people wonder about)
#   a may I?                   x don't!                z let's
#   b not when busy or ill     u for a while (während)  v versuchen
#   r like h, but only with "jeden Tag" and the like, not with "oft"
#   o, O not only, or never, within a day or two: also, or only, letzte Woche, nächstes Jahr
FRAMES = (
    # food and drink
    anyone("trinken trinkt getrunken = drink", "hndwl", Thing(lex.DRINKS, BARE)),
    anyone("essen isst gegessen = eat", "hndwlu", Thing(lex.MAIN_FOOD, BARE)),
    anyone("essen isst gegessen = eat", "hndwl", Thing(lex.EATEN, BARE, plural=True)),
    adults("kochen kocht gekocht = cook", "npdwcu", Thing(lex.COOKED, BARE)),
    anyone("backen backt gebacken = bake", "npdwmiu", Thing(lex.BAKED, A)),
    adults("kaufen kauft gekauft = buy", "hpdmcb", Thing(lex.FOOD, BARE)),
    adults("kaufen kauft gekauft = buy", "hpdm", Thing(lex.COUNTED_FOOD, BARE, plural=True)),
    adults("kaufen kauft gekauft = buy", "pdwmoy", Thing(lex.WORN, A)),
    adults("kaufen kauft gekauft = buy", "pdwmoy", Thing(lex.WORN_IN_PAIRS, BARE, plural=True)),
    adults("bestellen bestellt bestellt = order", "dw", Thing(lex.PORTIONS, A)),
    adults("bestellen bestellt bestellt = order", "dw", Thing(lex.DISHES[:9], A)),
    anyone("probieren probiert probiert = try", "dwj", Thing(lex.DISHES, THE)),
    anyone("mögen mag gemocht = like", "s", Thing(lex.FOOD, BARE)),
    anyone("mögen mag gemocht = like", "s", Thing(lex.COUNTED_FOOD + lex.ANIMALS, BARE, plural=True)),
    # reading and writing
    anyone("lesen liest gelesen = read", "ndjwmiuxa", Thing(lex.READING, THE)),
    anyone("lesen liest gelesen = read", "ndwu", Thing(lex.READING, A)),
    anyone("schreiben schreibt geschrieben = write", "npdwmu", Thing(lex.WRITING, A)),
    adults("übersetzen übersetzt übersetzt = translate", "npdjmcv", Thing(lex.TRANSLATED, THE)),
    adults("schicken schickt geschickt = send", "pdmwo", Person(DAT), Thing(lex.POST, A)),
    adults("unterschreiben unterschreibt unterschrieben = sign", "djmix", Thing(lex.PAPERS, THE)),
    adults("aus|füllen füllt ausgefüllt = fill in", "djmi", Thing(lex.FORMS, THE)),
    anyone("beantworten beantwortet beantwortet = answer", "djmiv", Thing(lex.ANSWERED, THE)),
    anyone("verstehen versteht verstanden = understand", "sdv", Thing(lex.UNDERSTOOD, THE)),
    # things
    anyone("suchen sucht gesucht = look for", "gnd", Thing(lex.BELONGINGS, OWN, each=True)),
    anyone("finden findet gefunden = find", "djv", Thing(lex.BELONGINGS, OWN, each=True)),
    anyone("verlieren verliert verloren = lose", "d", Thing(lex.BELONGINGS, OWN, each=True)),
    anyone("vergessen vergisst vergessen = forget", "dyx", Thing(lex.BELONGINGS, OWN, each=True)),
    anyone("mit|bringen bringt mitgebracht = bring", "pdmi", Thing(lex.BELONGINGS, OWN, each=True)),
    anyone("brauchen braucht gebraucht = need", "s", Thing(lex.NEEDED, A)),
    adults("haben hat gehabt = have", "s", Thing(lex.POSSESSED, A)),
    anyone("haben hat gehabt = have", "s", Thing(lex.PETS, A)),
    anyone("öffnen öffnet geöffnet = open", "djmciyvxa", Thing(lex.OPENED, THE)),
    anyone("öffnen öffnet geöffnet = open", "ndjiyvxa", Thing(lex.UNWRAPPED, THE)),
    anyone("schließen schließt geschlossen = close", "djmciyvxa", Thing(lex.OPENED, THE)),
    anyone("aus|machen macht ausgemacht = turn off", "djmciyxa", Thing(lex.SWITCHED, THE)),
    anyone("an|machen macht angemacht = turn on", "djciyvxa", Thing(lex.SWITCHED, THE)),
    adults("reparieren repariert repariert = repair", "npdjmciouv", Thing(lex.MACHINES, THE)),
    adults("verkaufen verkauft verkauft = sell", "dwjmOyv", Thing(lex.SOLD, OWN)),
    adults("mieten mietet gemietet = rent", "pdwmOy", Thing(lex.RENTED, A)),
    adults("bezahlen bezahlt bezahlt = pay", "djmi", Thing(lex.DUES, THE)),
    adults("bezahlen bezahlt bezahlt = pay for", "djmi", Thing(lex.PAID, THE)),
    anyone("an|ziehen zieht angezogen = put on", "ndm", Thing(lex.PUT_ON, OWN, each=True)),
    anyone("an|ziehen zieht angezogen = put on", "i", Thing(lex.OUTDOOR_CLOTHES, OWN, each=True)),
    adults("an|probieren probiert anprobiert = try on", "ndwja", Thing(lex.WORN, THE)),
    anyone("packen packt gepackt = pack", "ndmj", Thing(lex.PACKED, OWN, each=True)),
    # house and garden
    adults("waschen wäscht gewaschen = wash", "npdjmiu", Thing(lex.WASHED, THE)),
    anyone("spülen spült gespült = wash", "ndmjiu", Thing(lex.AT_TABLE[:6], THE, plural=True)),
    adults("putzen putzt geputzt = clean", "hnpdmjbu", Thing(lex.ROOMS, THE)),
    adults("putzen putzt geputzt = clean", "npdmjiu", Thing(lex.CLEANED, THE, plural=True)),
    anyone("auf|räumen räumt aufgeräumt = tidy up", "hnpdmjibu", Thing(lex.ROOMS, THE)),
    adults("streichen streicht gestrichen = paint", "npdmjou", Thing(lex.ROOMS, THE)),
    anyone("gießen gießt gegossen = water", "hndjmiua", Thing(lex.FLOWERS, THE, plural=True)),
    anyone("füttern füttert gefüttert = feed", "hndjmu", Thing(lex.FED, THE, plural=True)),
    # people
    anyone("besuchen besucht besucht = visit", "hpdwmcob", Person(circle="elsewhere")),
    anyone("an|rufen ruft angerufen = call", "hpdjmcyvx", Person()),
    adults("ab|holen holt abgeholt = pick up", "pdmc", Person()),
    anyone("ein|laden lädt eingeladen = invite", "dwjmoyx", Person(circle="elsewhere")),
    anyone("fragen fragt gefragt = ask", "djmwya", Person()),
    anyone("kennen kennt gekannt = know", "s", Person(circle="strangers")),
    anyone("vermissen vermisst vermisst = miss", "s", Person()),
    anyone("helfen hilft geholfen = help", "hpdmcib", Person(DAT)),
    anyone("danken dankt gedankt = thank", "dm", Person(DAT)),
    anyone("gratulieren gratuliert gratuliert = congratulate", "djm", Person(DAT)),
    anyone("antworten antwortet geantwortet = answer", "dj", Person(DAT)),
    anyone("vertrauen vertraut vertraut = trust", "s", Person(DAT)),
    # giving: the dative before the accusative
    anyone("geben gibt gegeben = give", "dm", Person(DAT), Thing(lex.BELONGINGS, THE)),
    anyone("schenken schenkt geschenkt = give", "pdwy", Person(DAT), Thing(lex.GIFTS, A)),
    anyone("zeigen zeigt gezeigt = show", "dwmj", Person(DAT), Thing(lex.SHOWN, THE)),
    adults("leihen leiht geliehen = lend", "dc", Person(DAT), Thing(lex.LENT, OWN)),
    anyone("erzählen erzählt erzählt = tell", "dw", Person(DAT), Thing(lex.TOLD, A)),
    anyone("bringen bringt gebracht = bring", "dc", Person(DAT), Thing(lex.REFRESHMENTS, A)),
    # with a preposition
    anyone("warten wartet gewartet = wait", "gndt", Thing(lex.AWAITED, THE, ACC, ("auf", "for"))),
    anyone("warten wartet gewartet = wait", "gndm", Person(ACC, ("auf", "for"))),
    anyone("sprechen spricht gesprochen = speak", "npdwm", Person(DAT, ("mit", "to"))),
    anyone("denken denkt gedacht = think", "hd", Person(ACC, ("an", "of"))),
    anyone("träumen träumt geträumt = dream", "s", Thing(lex.DREAMT_OF, A, DAT, ("von", "of"))),
    anyone("sich freuen freut gefreut = look forward", "g", Thing(lex.HOPED_FOR, THE, ACC, ("auf", "to"))),
    anyone(
        "sich interessieren interessiert interessiert = be interested",
        "s",
        Thing(lex.SCHOOL_SUBJECTS, BARE, ACC, ("für", "in")),
    ),
    anyone("sich erinnern erinnert erinnert = remember", "s", Thing(lex.REMEMBERED, THE, ACC, ("an", ""))),
    adults("sich kümmern kümmert gekümmert = look after", "hdm", Thing(lex.CARED_FOR, OWN, ACC, ("um", ""))),
    adults("sich ärgern ärgert geärgert = be annoyed", "d", Person(ACC, ("über", "with"))),
    anyone("telefonieren telefoniert telefoniert = talk on the phone", "hnpdu", Person(DAT, ("mit", "to"))),
    anyone(
        "haben hat gehabt = be afraid",
        "s",
        Fixed((("Angst", ""),), slot=INDEFINITE, negative="keine Angst"),
        Thing(lex.FEARED, BARE, DAT, ("vor", "of"), plural=True),
    ),
    anyone("sich unterhalten unterhält unterhalten = chat", "hndm", Person(DAT, ("mit", "with"))),
    anyone("sich treffen trifft getroffen = meet", "hpdwcob", Person(DAT, ("mit", ""), circle="elsewhere")),
    # learning, playing, seeing, hearing
    anyone("lernen lernt gelernt = learn", "grdwmty", Thing(lex.LANGUAGES, BARE)),
    anyone("spielen spielt gespielt = play", "hnpdwelbuz", Fixed(lex.GAMES)),
    anyone("sich_dat an|sehen sieht angesehen = watch", "npdwj", Thing(lex.WATCHED, THE)),
    anyone("hören hört gehört = listen to", "hndwluz", Thing(lex.MUSIC, BARE)),
    frame_for_young("machen macht gemacht = do", "hndmji", Thing(lex.HOMEWORK, OWN)),
    anyone("fotografieren fotografiert fotografiert = photograph", "ndwja", Thing(lex.ANIMALS, THE, plural=True)),
    # going and being somewhere
    anyone("gehen geht +gegangen = go", "hpdmc", Whereabouts(lex.TOWN, True)),
    anyone("gehen geht +gegangen = go", "hpdwlcbz", Whereabouts(lex.OUTINGS, True)),
    anyone("fahren fährt +gefahren = go", "pdwmo", Fixed(lex.CITIES, ("nach", "to"))),
    anyone(
        "fahren fährt +gefahren = go",
        "pdwmo",
        Fixed(lex.CITIES, ("nach", "to")),
        Fixed(lex.LONG_DISTANCE, ("mit", "by"), MANNER),
    ),
    anyone(
        "fahren fährt +gefahren = go", "hpdm", Whereabouts(lex.TOWN, True), Fixed(lex.IN_TOWN, ("mit", "by"), MANNER)
    ),
    adults("reisen reist +gereist = travel", "pdwO", Fixed(lex.COUNTRIES, ("nach", "to"))),
    anyone("fliegen fliegt +geflogen = fly", "pdwmeoy", Fixed(lex.CITIES, ("nach", "to"))),
    anyone("fliegen fliegt +geflogen = fly", "pdweOy", Fixed(lex.COUNTRIES, ("nach", "to"))),
    anyone("wohnen wohnt gewohnt = live", "swt", Fixed(lex.CITIES, ("in", "in"))),
    anyone("leben lebt gelebt = live", "swt", Fixed(lex.COUNTRIES, ("in", "in"))),
    adults("um|ziehen zieht +umgezogen = move", "pdwmOy", Fixed(lex.CITIES, ("nach", "to"))),
    adults("arbeiten arbeitet gearbeitet = work", "sdwtu", Whereabouts(lex.WORKPLACES, False)),
    anyone("sein ist +gewesen = be", "d", Whereabouts(lex.TOWN, False)),
    anyone("sein ist +gewesen = be", "dO", Fixed(lex.CITIES, ("in", "in"))),
    anyone("sein ist +gewesen = be", "e", Fixed(lex.CITIES, ("in", "to"))),
    anyone("sein ist +gewesen = be", "e", Fixed(lex.COUNTRIES, ("in", "to"))),
    anyone("kommen kommt +gekommen = come", "pdwmc", fixed_words("nach Hause = home; zur Party = to the party")),
    # alone
    anyone("frühstücken frühstückt gefrühstückt = have breakfast", "njdu"),
    anyone(
        "auf|stehen steht +aufgestanden = get up",
        "hm",
        fixed_words("früh = early; spät = late; um sechs Uhr = at six o'clock"),
    ),
    anyone("schlafen schläft geschlafen = sleep", "nu"),
    anyone("schlafen schläft geschlafen = sleep", "d", fixed_words("gut = well")),
    anyone("duschen duscht geduscht = have a shower", "hndju"),
    anyone("fern|sehen sieht ferngesehen = watch television", "hndwluz"),
    anyone("tanzen tanzt getanzt = dance", "hndwelbz"),
    anyone("singen singt gesungen = sing", "hndwlz"),
    anyone("schwimmen schwimmt +geschwommen = swim", "hndwlbz"),
    anyone("weinen weint geweint = cry", "ndy"),
    anyone("lachen lacht gelacht = laugh", "hdy"),
    anyone("spazieren_|gehen geht +spazieren_gegangen = go for a walk", "hpdwlbz"),
    adults("ein|kaufen kauft eingekauft = do the shopping", "hnpdmcbu"),
    anyone("sich aus|ruhen ruht ausgeruht = rest", "ndwm"),
    anyone("sich beeilen beeilt beeilt = hurry", "dmi"),
    anyone("bleiben bleibt +geblieben = stay", "hpdwmy", fixed_words("zu Hause = at home")),
    anyone("gehen geht +gegangen = go", "pdwmy", fixed_words("nach Hause = home")),
    anyone("sich_dat putzen putzt geputzt = brush", "ndmji", fixed_words("die Zähne = ~ teeth")),
    anyone("sich_dat waschen wäscht gewaschen = wash", "dmji", fixed_words("die Hände = ~ hands; die Haare = ~ hair")),
    anyone("sich an|ziehen zieht angezogen = get dressed", "ndmj"),
    anyone("zu|hören hört zugehört = listen", "ndmi"),
)
