"""The adjectives, times and words of manner of the phrasebook: what a thing is like, when and how something is done.

The adjectives are grouped by the nouns of `lexicon` that they go with, in the notation of `words`.
"""

from nmt.data.phrasebook.words import adjectives, pairs

# -------------------------------------------------------------------------------------------------------- adjectives

COLOURS = adjectives("""
    rot = red; blau = blue; grün = green; gelb = yellow; schwarz = black; weiß = white; grau = grey; braun = brown
""")
FOR_CLOTHES = adjectives("""
    neu = new; alt älter ältest = old; schön = beautiful; teuer = expensive; billig = cheap; elegant = elegant
    modern = modern; hässlich = ugly; schmutzig = dirty; sauber = clean
    praktisch praktischer praktischst = practical
""")
FOR_STORIES = adjectives("""
    spannend spannender spannendst = exciting; interessant = interesting; langweilig = boring; lustig = funny
    lang länger längst = long; kurz kürzer kürzest = short; neu = new; traurig = sad
    romantisch romantischer romantischst = romantic
""")
FOR_MESSAGES = adjectives("""
    interessant = interesting; langweilig = boring; lang länger längst = long; kurz kürzer kürzest = short
    wichtig = important
""")
FOR_PEOPLE = adjectives("""
    jung jünger jüngst = young; alt älter ältest = old; nett = nice; freundlich = friendly; groß größer größt = tall
    klug klüger klügst = clever; höflich = polite; fleißig = hard-working; ruhig = quiet; schüchtern = shy
    lustig = funny; stark stärker stärkst = strong; berühmt = famous
""")
COMPARED_PEOPLE = adjectives("""
    jung jünger jüngst = young; alt älter ältest = old; groß größer größt = tall; klein = short
    stark stärker stärkst = strong; fleißig = hard-working; freundlich = friendly; schüchtern = shy; lustig = funny
    geduldig = patient; ehrgeizig = ambitious; sportlich = athletic; ordentlich = tidy; klug klüger klügst = clever
""")
FEELINGS = adjectives("""
    müde = tired; krank kränker kränkst = ill; glücklich = happy; traurig = sad; hungrig = hungry; durstig = thirsty
    nervös = nervous; zufrieden = satisfied; enttäuscht = disappointed; aufgeregt = excited; wütend = angry
    allein = alone; überrascht = surprised; stolz = proud
""")
FOR_ROOMS = adjectives("""
    groß größer größt = big; klein = small; hell = bright; dunkel dunkler dunkelst = dark; sauber = clean
    schmutzig = dirty; modern = modern; schön = beautiful; warm wärmer wärmst = warm; kalt kälter kältest = cold
""")
FOR_HOMES = adjectives("""
    groß größer größt = big; klein = small; modern = modern; alt älter ältest = old; neu = new; schön = beautiful
    ruhig = quiet; gemütlich = cosy; teuer = expensive; billig = cheap; hell = bright; laut = loud
""")
FOR_SIGHTS = adjectives("""
    alt älter ältest = old; neu = new; groß größer größt = big; klein = small; schön = beautiful; modern = modern
    berühmt = famous; bekannt = well-known
""")
FOR_BELONGINGS = adjectives("""
    neu = new; alt älter ältest = old; teuer = expensive; billig = cheap
""")
FOR_MACHINES = adjectives("""
    neu = new; alt älter ältest = old; teuer = expensive; billig = cheap; modern = modern; kaputt = broken
    praktisch praktischer praktischst = practical; gut besser best = good
""")
FOR_FURNITURE = adjectives("""
    neu = new; alt älter ältest = old; schön = beautiful; teuer = expensive; billig = cheap; groß größer größt = big
    klein = small; modern = modern; schwer = heavy; hässlich = ugly
""")
FOR_TASKS = adjectives("""
    schwierig = difficult; einfach = simple; wichtig = important; interessant = interesting
    lang länger längst = long; kurz kürzer kürzest = short; klar = clear
""")
FOR_SAVOURY = adjectives("""
    lecker = delicious; kalt kälter kältest = cold; heiß = hot; scharf schärfer schärfst = spicy; salzig = salty
    gut besser best = good; fettig = greasy
""")
FOR_SWEETS = adjectives("lecker = delicious; süß = sweet; gut besser best = good; teuer = expensive")
FOR_ANIMALS = adjectives("""
    groß größer größt = big; klein = small; alt älter ältest = old; jung jünger jüngst = young; hungrig = hungry
    schön = beautiful; schnell = fast; süß = cute
""")
FOR_WEATHER = adjectives("""
    kalt kälter kältest = cold; warm wärmer wärmst = warm; heiß = hot; sonnig = sunny; windig = windy
    neblig = foggy; kühl = cool; bewölkt = cloudy; schwül = muggy; mild = mild
    stürmisch stürmischer stürmischst = stormy
""")

# ---------------------------------------------------------------------------------------------------- time and manner

WEEKDAYS = pairs("""
    Montag = Monday; Dienstag = Tuesday; Mittwoch = Wednesday; Donnerstag = Thursday; Freitag = Friday
    Samstag = Saturday; Sonntag = Sunday
""")
MONTHS = pairs("""
    Januar = January; Februar = February; März = March; April = April; Mai = May; Juni = June; Juli = July
    August = August; September = September; Oktober = October; November = November; Dezember = December
""")
SEASONS = pairs("Frühling = spring; Sommer = summer; Herbst = autumn; Winter = winter")
SOON_TIMES = pairs("""
    morgen = tomorrow; heute Abend = tonight; morgen früh = tomorrow morning; übermorgen = the day after tomorrow
    heute Nachmittag = this afternoon; morgen Abend = tomorrow evening; morgen Nachmittag = tomorrow afternoon
""")
NEXT_WEEKS = pairs("""
    nächste Woche = next week; am Wochenende = at the weekend; in zwei Wochen = in two weeks
    nächsten Monat = next month
""")
FUTURE_TIMES = NEXT_WEEKS + pairs("nächstes Jahr = next year; nächsten Sommer = next summer; im Herbst = in autumn")
RECENT_TIMES = pairs("""
    gestern = yesterday; gestern Abend = last night; vorgestern = the day before yesterday
    heute Morgen = this morning; gestern Nachmittag = yesterday afternoon; am letzten Samstag = last Saturday
    am letzten Sonntag = last Sunday
""")
LAST_WEEKS = pairs("""
    letzte Woche = last week; am letzten Wochenende = last weekend; vor drei Tagen = three days ago
    vor einer Woche = a week ago; vor zwei Wochen = two weeks ago
""")
PAST_TIMES = LAST_WEEKS + pairs("""
    letztes Jahr = last year; letzten Sommer = last summer; vor einem Monat = a month ago
    letzten Monat = last month
""")
REGULAR_TIMES = pairs("""
    jeden Tag = every day; jeden Morgen = every morning; jeden Abend = every evening; jede Woche = every week
    jedes Wochenende = every weekend; jeden Sonntag = every Sunday; jeden Samstag = every Saturday
    zweimal pro Woche = twice a week
    einmal pro Woche = once a week
""")
OFTEN = pairs(
    "oft = often; immer = always; manchmal = sometimes; selten = rarely; meistens = usually; fast immer = almost always"
)
LANGUAGE_LEVELS = pairs("""
    sehr gut = {} very well; ein bisschen = a little {}; fließend = {} fluently; gut = {} well
    ziemlich gut = {} quite well
""")
