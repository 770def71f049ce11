"""The nouns and names of the phrasebook, grouped by meaning: a pattern can ask for something to drink.
A German word stands in one sense only, and where English has one word for two of German (Lehrer and Lehrerin), the
tables keep the choice decidable from the rest of the sentence. The notation is that of `words`.
"""

from nmt.data.phrasebook.words import nouns, pairs, places

# ---------------------------------------------------------------------------------------------------------- people

FEMALE_NAMES = ("Anna", "Lena", "Maria", "Julia", "Sophie", "Laura", "Emma", "Clara", "Nina", "Eva")
MALE_NAMES = ("Peter", "Paul", "Jan", "David", "Martin", "Stefan", "Daniel", "Tim", "Karl", "Simon")
SURNAMES = (
    *("Müller", "Schmidt", "Weber", "Fischer", "Wagner", "Becker"),
    *("Hoffmann", "Richter", "Klein", "Wolf", "Braun", "Krüger"),
)

MEN_OF_THE_FAMILY = nouns("""
    der Vater, Väter = father; der Bruder, Brüder = brother; der Sohn, Söhne = son; der Onkel, Onkel = uncle
    der Großvater, Großväter = grandfather; der* Neffe, Neffen = nephew; der Mann, Männer = husband
""")
WOMEN_OF_THE_FAMILY = nouns("""
    die Mutter, Mütter = mother; die Schwester, Schwestern = sister; die Tochter, Töchter = daughter
    die Tante, Tanten = aunt; die Großmutter, Großmütter = grandmother; die Nichte, Nichten = niece
    die Frau, Frauen = wife
""")
FAMILY = MEN_OF_THE_FAMILY + WOMEN_OF_THE_FAMILY
FAMILY_PLURAL = nouns("pl Eltern = parents; pl Großeltern = grandparents; pl Kinder = children; pl Freunde = friends")
COUNTED_FAMILY = nouns("""
    der Bruder, Brüder = brother; die Schwester, Schwestern = sister; der Sohn, Söhne = son
    das Kind, Kinder = child; die Tochter, Töchter = daughter; der Onkel, Onkel = uncle; die Tante, Tanten = aunt
    der* Neffe, Neffen = nephew
""")
# Colleagues and neighbours are men only: English could not show the other choice.
ACQUAINTANCES = nouns("""
    der* Kollege, Kollegen = colleague; der* Nachbar, Nachbarn = neighbour; der Chef, Chefs = boss
    der Lehrer, Lehrer = teacher
""")
GROWN_UPS = nouns("""
    der Mann, Männer = man; die Frau, Frauen = woman; der* Student, Studenten = student
    die Ärztin, Ärztinnen = doctor
    der Kellner, Kellner = waiter; die Verkäuferin, Verkäuferinnen = shop assistant
    der* Polizist, Polizisten = police officer; die Köchin, Köchinnen = cook
""")
CHILDREN = nouns("der* Junge, Jungen = boy; das Mädchen, Mädchen = girl; das Kind, Kinder = child")
PROFESSIONS = pairs("""
    Arzt/Ärztin = doctor; Lehrer/Lehrerin = teacher; Kellner/Kellnerin = waiter/waitress; Koch/Köchin = cook
    Verkäufer/Verkäuferin = shop assistant; Ingenieur/Ingenieurin = engineer; Anwalt/Anwältin = lawyer
    Bäcker/Bäckerin = baker; Krankenpfleger/Krankenschwester = nurse; Polizist/Polizistin = police officer
    Architekt/Architektin = architect; Journalist/Journalistin = journalist; Mechaniker/Mechanikerin = mechanic
    Musiker/Musikerin = musician; Schauspieler/Schauspielerin = actor/actress; Zahnarzt/Zahnärztin = dentist
    Taxifahrer/Taxifahrerin = taxi driver; Gärtner/Gärtnerin = gardener; Fotograf/Fotografin = photographer
    Bauer/Bäuerin = farmer; Pilot/Pilotin = pilot; Friseur/Friseurin = hairdresser; Student/Studentin = student
""")

# ---------------------------------------------------------------------------------------------------- food and drink

DRINKS = nouns("""
    der Kaffee = coffee; der Tee = tea; das Wasser = water; die Milch = milk; das Bier = beer; der Wein = wine
    der Orangensaft = orange juice; der Apfelsaft = apple juice; das Mineralwasser = mineral water
    die Limonade = lemonade; der Kakao = cocoa; der Rotwein = red wine
""")
FOOD = nouns("""
    das Brot = bread; der Käse = cheese; das Fleisch = meat; der Fisch = fish; der Reis = rice; das Obst = fruit
    die Schokolade = chocolate; die Suppe = soup; der Salat = salad; das Eis = ice cream; der Kuchen = cake
    der Schinken = ham; der Honig = honey; die Marmelade = jam; der Joghurt = yoghurt
""")
MAIN_FOOD = tuple(noun for noun in FOOD if noun.german not in ("Honig", "Marmelade"))
COUNTED_FOOD = nouns("""
    der Apfel, Äpfel = apple; die Birne, Birnen = pear; die Banane, Bananen = banana; die Orange, Orangen = orange
    die Tomate, Tomaten = tomato; die Kartoffel, Kartoffeln = potato; das Ei, Eier = egg
    das Brötchen, Brötchen = roll; die Karotte, Karotten = carrot; die Kirsche, Kirschen = cherry
    die Erdbeere, Erdbeeren = strawberry; der Keks, Kekse = biscuit; die Gurke, Gurken = cucumber
    der Pilz, Pilze = mushroom; die Nuss, Nüsse = nut; die Zwiebel, Zwiebeln = onion; die Zitrone, Zitronen = lemon
    das Würstchen, Würstchen = sausage
""")
EATEN = tuple(noun for noun in COUNTED_FOOD if noun.german not in ("Zitrone", "Zwiebel"))
PORTIONS = nouns("""
    die Tasse Kaffee, Tassen Kaffee = cup of coffee; die Tasse Tee, Tassen Tee = cup of tea
    das Glas Wasser, Gläser Wasser = glass of water; das Glas Wein, Gläser Wein = glass of wine
    das Glas Milch, Gläser Milch = glass of milk; die Flasche Bier, Flaschen Bier = bottle of beer
    das Glas Orangensaft, Gläser Orangensaft = glass of orange juice
    das Stück Kuchen, Stücke Kuchen = piece of cake
    die Flasche Mineralwasser, Flaschen Mineralwasser = bottle of mineral water
    der Teller Suppe, Teller Suppe = plate of soup; die Tasse Kakao, Tassen Kakao = cup of cocoa
    die Portion Eis, Portionen Eis = portion of ice cream
""")
REFRESHMENTS = tuple(noun for noun in PORTIONS if not noun.german.endswith(("Bier", "Wein")))
DISHES = nouns("""
    die Suppe, Suppen = soup; der Salat, Salate = salad; der Kuchen, Kuchen = cake; die Pizza, Pizzen = pizza
    das Omelett, Omeletts = omelette; das Schnitzel, Schnitzel = schnitzel; das Hähnchen, Hähnchen = chicken
    der Eintopf, Eintöpfe = stew; der Nachtisch, Nachtische = dessert; die Soße, Soßen = sauce
""")
COOKED = nouns("""
    die Suppe = soup; der Reis = rice; das Gemüse = vegetables; die Marmelade = jam; der Fisch = fish
    das Fleisch = meat
""")
BAKED = nouns("""
    der Kuchen, Kuchen = cake; die Pizza, Pizzen = pizza; die Torte, Torten = tart
    der Apfelkuchen, Apfelkuchen = apple pie
""")
AT_TABLE = nouns("""
    der Löffel, Löffel = spoon; die Gabel, Gabeln = fork; das Messer, Messer = knife; der Teller, Teller = plate
    das Glas, Gläser = glass; die Tasse, Tassen = cup; die Serviette, Servietten = napkin
    die Speisekarte, Speisekarten = menu
""")

# ------------------------------------------------------------------------------------------------------------ things

READING = nouns("""
    das Buch, Bücher = book; die Zeitung, Zeitungen = newspaper; der Brief, Briefe = letter
    der Roman, Romane = novel; die Zeitschrift, Zeitschriften = magazine; die E-Mail, E-Mails = e-mail
    der Artikel, Artikel = article; die Nachricht, Nachrichten = message; das Gedicht, Gedichte = poem
    die Geschichte, Geschichten = story; der Bericht, Berichte = report; das Märchen, Märchen = fairy tale
""")
WRITING = nouns("""
    der Brief, Briefe = letter; die E-Mail, E-Mails = e-mail; der Bericht, Berichte = report
    die Nachricht, Nachrichten = message; die Postkarte, Postkarten = postcard; das Gedicht, Gedichte = poem
    der Aufsatz, Aufsätze = essay; die Einkaufsliste, Einkaufslisten = shopping list
""")
POST = nouns("""
    der Brief, Briefe = letter; die Postkarte, Postkarten = postcard; das Paket, Pakete = parcel
    die E-Mail, E-Mails = e-mail; das Foto, Fotos = photo; die Nachricht, Nachrichten = message
    die Einladung, Einladungen = invitation
""")
CLOTHES = nouns("""
    der Mantel, Mäntel = coat; die Jacke, Jacken = jacket; das Hemd, Hemden = shirt; das Kleid, Kleider = dress
    der Rock, Röcke = skirt; der Hut, Hüte = hat; die Mütze, Mützen = cap; der Schal, Schals = scarf
    der Pullover, Pullover = sweater; die Bluse, Blusen = blouse; der Anzug, Anzüge = suit
    die Krawatte, Krawatten = tie; das T-Shirt, T-Shirts = T-shirt; die Hose, Hosen = ~trousers
""")
WORN_IN_PAIRS = nouns("""
    der Schuh, Schuhe = shoe; der Stiefel, Stiefel = boot; der Handschuh, Handschuhe = glove
    die Socke, Socken = sock; die Sandale, Sandalen = sandal
""")
BELONGINGS = nouns("""
    der Schlüssel, Schlüssel = key; die Tasche, Taschen = bag; das Handy, Handys = mobile phone
    die Brieftasche, Brieftaschen = wallet; der Regenschirm, Regenschirme = umbrella
    die Armbanduhr, Armbanduhren = watch; der Reisepass, Reisepässe = passport; der Koffer, Koffer = suitcase
    der Rucksack, Rucksäcke = backpack; die Kamera, Kameras = camera; der Ring, Ringe = ring
    die Kreditkarte, Kreditkarten = credit card; der Kugelschreiber, Kugelschreiber = pen
    das Heft, Hefte = notebook; das Wörterbuch, Wörterbücher = dictionary; der Laptop, Laptops = laptop
    die Brille, Brillen = ~glasses
""")
VALUED = tuple(noun for noun in BELONGINGS if noun.german not in ("Reisepass", "Kreditkarte", "Schlüssel"))
GIFTS = nouns("""
    das Buch, Bücher = book; die Vase, Vasen = vase; der Ball, Bälle = ball; das Fahrrad, Fahrräder = bike
    der Ring, Ringe = ring; die Armbanduhr, Armbanduhren = watch; die Gitarre, Gitarren = guitar
    der Schal, Schals = scarf; die Kamera, Kameras = camera; der Blumenstrauß, Blumensträuße = bunch of flowers
    das Bild, Bilder = picture; die Tasche, Taschen = bag; der Kalender, Kalender = calendar
    die Kette, Ketten = necklace; das Spiel, Spiele = game; das Parfüm, Parfüms = perfume
""")
PACKED = nouns("der Koffer, Koffer = suitcase; der Rucksack, Rucksäcke = backpack; die Tasche, Taschen = bag")
WORN = nouns("""
    der Mantel, Mäntel = coat; die Jacke, Jacken = jacket; das Hemd, Hemden = shirt; der Hut, Hüte = hat
    die Mütze, Mützen = cap; der Schal, Schals = scarf; der Pullover, Pullover = sweater
    das T-Shirt, T-Shirts = T-shirt; die Hose, Hosen = ~trousers
""")
PUT_ON = tuple(noun for noun in WORN if noun.german not in ("Hut", "Mütze", "Schal"))
OUTDOOR_CLOTHES = tuple(noun for noun in WORN if noun.german in ("Mantel", "Jacke", "Pullover"))
WASHED = tuple(noun for noun in WORN if noun.german not in ("Hut", "Mantel"))
LENT = nouns("""
    das Auto, Autos = car; das Fahrrad, Fahrräder = bike; das Wörterbuch, Wörterbücher = dictionary
    die Kamera, Kameras = camera; der Laptop, Laptops = laptop; der Regenschirm, Regenschirme = umbrella
    das Zelt, Zelte = tent; der Koffer, Koffer = suitcase
""")
SHOWN = nouns("""
    das Haus, Häuser = house; die Wohnung, Wohnungen = flat; das Foto, Fotos = photo; der Brief, Briefe = letter
    der Garten, Gärten = garden; der Weg, Wege = way; das Geschenk, Geschenke = present
""")
TOLD = nouns("die Geschichte, Geschichten = story; der Witz, Witze = joke; das Märchen, Märchen = fairy tale")
TRANSLATED = nouns("""
    das Buch, Bücher = book; der Roman, Romane = novel; der Brief, Briefe = letter; die E-Mail, E-Mails = e-mail
    der Artikel, Artikel = article; das Gedicht, Gedichte = poem; die Geschichte, Geschichten = story
    der Bericht, Berichte = report; das Märchen, Märchen = fairy tale
""")
STORIES = nouns("""
    das Buch, Bücher = book; der Roman, Romane = novel; die Geschichte, Geschichten = story; der Film, Filme = film
    die Serie, Serien = series, series; das Theaterstück, Theaterstücke = play; das Märchen, Märchen = fairy tale
""")
MESSAGES = nouns("""
    der Brief, Briefe = letter; die E-Mail, E-Mails = e-mail; die Nachricht, Nachrichten = message
    der Artikel, Artikel = article; der Bericht, Berichte = report; der Vortrag, Vorträge = lecture
""")
SAVOURY = nouns("""
    die Suppe, Suppen = soup; das Schnitzel, Schnitzel = schnitzel; das Hähnchen, Hähnchen = chicken
    der Eintopf, Eintöpfe = stew; die Soße, Soßen = sauce; die Pizza, Pizzen = pizza
    das Omelett, Omeletts = omelette
""")
SWEETS = nouns("""
    der Kuchen, Kuchen = cake; der Nachtisch, Nachtische = dessert; die Torte, Torten = tart
    der Apfelkuchen, Apfelkuchen = apple pie
""")
TASKS = nouns("""
    die Frage, Fragen = question; der Text, Texte = text; die Regel, Regeln = rule; der Satz, Sätze = sentence
    die Aufgabe, Aufgaben = task; die Prüfung, Prüfungen = exam; die Antwort, Antworten = answer
""")
FURNITURE = nouns("""
    der Tisch, Tische = table; der Stuhl, Stühle = chair; das Bett, Betten = bed; das Sofa, Sofas = sofa
    der Schrank, Schränke = cupboard; die Lampe, Lampen = lamp; das Regal, Regale = shelf
    der Sessel, Sessel = armchair; der Teppich, Teppiche = carpet; der Spiegel, Spiegel = mirror
    der Schreibtisch, Schreibtische = desk; das Bild, Bilder = picture
""")
STANDING = nouns("""
    die Lampe, Lampen = lamp; der Stuhl, Stühle = chair; der Sessel, Sessel = armchair
    der Koffer, Koffer = suitcase; das Fahrrad, Fahrräder = bike; der Tisch, Tische = table; die Vase, Vasen = vase
    die Kiste, Kisten = box
""")
LYING = nouns("""
    das Buch, Bücher = book; der Schlüssel, Schlüssel = key; die Zeitung, Zeitungen = newspaper
    das Handy, Handys = mobile phone; der Brief, Briefe = letter; die Jacke, Jacken = jacket; der Ball, Bälle = ball
    die Brieftasche, Brieftaschen = wallet; der Kugelschreiber, Kugelschreiber = pen; das Heft, Hefte = notebook
    die Brille, Brillen = ~glasses
""")
LANDMARKS = nouns("""
    der Tisch, Tische = table; das Bett, Betten = bed; das Sofa, Sofas = sofa; der Schrank, Schränke = cupboard
    das Regal, Regale = shelf; der Schreibtisch, Schreibtische = desk; der Stuhl, Stühle = chair
    der Kühlschrank, Kühlschränke = fridge
""")
MACHINES = nouns("""
    die Waschmaschine, Waschmaschinen = washing machine; der Kühlschrank, Kühlschränke = fridge
    der Fernseher, Fernseher = television; der Computer, Computer = computer; der Drucker, Drucker = printer
    das Radio, Radios = radio; das Auto, Autos = car; das Fahrrad, Fahrräder = bike
    die Kaffeemaschine, Kaffeemaschinen = coffee machine; die Lampe, Lampen = lamp
    die Spülmaschine, Spülmaschinen = dishwasher
""")
SWITCHED = nouns("""
    das Licht, Lichter = light; der Fernseher, Fernseher = television; das Radio, Radios = radio
    die Lampe, Lampen = lamp; die Heizung, Heizungen = heating; der Computer, Computer = computer
    die Waschmaschine, Waschmaschinen = washing machine; die Musik = music; der Herd, Herde = cooker
    der Drucker, Drucker = printer
""")
OPENED = nouns("""
    die Tür, Türen = door; das Fenster, Fenster = window; der Koffer, Koffer = suitcase
    der Schrank, Schränke = cupboard; die Schublade, Schubladen = drawer; das Tor, Tore = gate
    die Kiste, Kisten = box
""")
UNWRAPPED = nouns("""
    das Paket, Pakete = parcel; das Geschenk, Geschenke = present; der Brief, Briefe = letter
    die Flasche, Flaschen = bottle; der Umschlag, Umschläge = envelope
""")
ROOMS = nouns("""
    die Küche, Küchen = kitchen; das Badezimmer, Badezimmer = bathroom; das Wohnzimmer, Wohnzimmer = living room
    das Schlafzimmer, Schlafzimmer = bedroom; der Keller, Keller = cellar; die Garage, Garagen = garage
    das Kinderzimmer, Kinderzimmer = children's room; die Wohnung, Wohnungen = flat
""")
HOMES = nouns("""
    das Haus, Häuser = house; die Wohnung, Wohnungen = flat; das Zimmer, Zimmer = room
    das Ferienhaus, Ferienhäuser = holiday home
""")
RENTED = nouns("""
    das Auto, Autos = car; die Wohnung, Wohnungen = flat; das Zimmer, Zimmer = room; das Fahrrad, Fahrräder = bike
    das Boot, Boote = boat; das Haus, Häuser = house; das Ferienhaus, Ferienhäuser = holiday home
""")
SOLD = nouns("""
    das Auto, Autos = car; die Wohnung, Wohnungen = flat; das Haus, Häuser = house; das Fahrrad, Fahrräder = bike
    das Boot, Boote = boat; das Motorrad, Motorräder = motorbike; das Klavier, Klaviere = piano
    die Kamera, Kameras = camera; der Laptop, Laptops = laptop
""")
PAPERS = nouns("""
    der Vertrag, Verträge = contract; das Formular, Formulare = form; die Rechnung, Rechnungen = bill
    der Brief, Briefe = letter; der Antrag, Anträge = application
""")
DUES = nouns("die Rechnung, Rechnungen = bill; die Miete, Mieten = rent")
PAID = nouns("""
    das Taxi, Taxis = taxi; das Hotel, Hotels = hotel; die Fahrkarte, Fahrkarten = ticket
    die Reparatur, Reparaturen = repair; das Mittagessen, Mittagessen = lunch
""")
FORMS = nouns("""
    das Formular, Formulare = form; der Antrag, Anträge = application; der Fragebogen, Fragebögen = questionnaire
""")
ANSWERED = nouns("""
    die Frage, Fragen = question; der Brief, Briefe = letter; die E-Mail, E-Mails = e-mail
    die Nachricht, Nachrichten = message
""")
CLEANED = nouns("das Fenster, Fenster = window; der Schuh, Schuhe = shoe; der Stiefel, Stiefel = boot")
DREAMT_OF = nouns("""
    die Reise, Reisen = trip; das Haus, Häuser = house; der Garten, Gärten = garden; das Boot, Boote = boat
    der Hund, Hunde = dog; das Pferd, Pferde = horse
""")
CARED_FOR = nouns("""
    pl Kinder = children; der Hund, Hunde = dog; die Katze, Katzen = cat; der Garten, Gärten = garden
    das Pferd, Pferde = horse
""")
REMEMBERED = nouns("""
    der Urlaub = holiday; die Reise, Reisen = trip; das Konzert, Konzerte = concert; der Film, Filme = film
    die Hochzeit, Hochzeiten = wedding; das Gespräch, Gespräche = conversation; der Name = name
""")
HOMEWORK = nouns("pl Hausaufgaben = homework")
MUSIC = nouns("die Musik = music")
UNDERSTOOD = nouns("""
    die Frage, Fragen = question; der Text, Texte = text; das Wort, Wörter = word; die Regel, Regeln = rule
    der Satz, Sätze = sentence; die Aufgabe, Aufgaben = task; der Witz, Witze = joke
    das Problem, Probleme = problem
""")
WATCHED = nouns("""
    der Film, Filme = film; das Spiel, Spiele = game; die Serie, Serien = series, series
    das Theaterstück, Theaterstücke = play
""")
FLOWERS = nouns(
    "die Blume, Blumen = flower; die Pflanze, Pflanzen = plant; die Rose, Rosen = rose; der Baum, Bäume = tree"
)
ANIMALS = nouns("""
    der Hund, Hunde = dog; die Katze, Katzen = cat; das Pferd, Pferde = horse; der Vogel, Vögel = bird
    das Kaninchen, Kaninchen = rabbit; das Schaf, Schafe = sheep; die Ente, Enten = duck; die Kuh, Kühe = cow
    das Schwein, Schweine = pig; das Huhn, Hühner = hen; der* Affe, Affen = monkey
    der* Elefant, Elefanten = elephant; die Ziege, Ziegen = goat
""")
FED = tuple(animal for animal in ANIMALS if animal.german not in ("Affe", "Elefant"))
FEARED = nouns("""
    der Hund, Hunde = dog; die Schlange, Schlangen = snake; die Spinne, Spinnen = spider; die Maus, Mäuse = mouse
    die Prüfung, Prüfungen = exam; das Gewitter, Gewitter = thunderstorm; die Biene, Bienen = bee
    der* Bär, Bären = bear
""")
PETS = nouns("""
    der Hund, Hunde = dog; die Katze, Katzen = cat; der Vogel, Vögel = bird; das Kaninchen, Kaninchen = rabbit
    das Pferd, Pferde = horse
""")
SCHOOL_SUBJECTS = nouns("""
    die Mathematik = mathematics; die Biologie = biology; die Chemie = chemistry; die Physik = physics
    die Kunst = art; die Musik = music; die Politik = politics; die Literatur = literature; die Technik = technology
    die Philosophie = philosophy
""")
LANGUAGES = nouns("""
    das Deutsch = German; das Englisch = English; das Französisch = French; das Spanisch = Spanish
    das Italienisch = Italian; das Russisch = Russian; das Polnisch = Polish; das Japanisch = Japanese
    das Türkisch = Turkish; das Chinesisch = Chinese; das Schwedisch = Swedish; das Portugiesisch = Portuguese
""")
GAMES = pairs("""
    Fußball = football; Tennis = tennis; Schach = chess; Karten = cards; Basketball = basketball
    Handball = handball; Klavier = the piano; Gitarre = the guitar; Geige = the violin; Flöte = the flute
    Volleyball = volleyball
""")
AWAITED = nouns("""
    der Bus, Busse = bus; der Zug, Züge = train; das Taxi, Taxis = taxi; der Brief, Briefe = letter
    die Antwort, Antworten = answer; die Straßenbahn, Straßenbahnen = tram; das Paket, Pakete = parcel
    das Ergebnis, Ergebnisse = result; der Anruf, Anrufe = call
""")
HOPED_FOR = nouns("""
    die Reise, Reisen = trip; das Wochenende, Wochenenden = weekend; der Urlaub = holiday
    die Party, Partys = party; das Konzert, Konzerte = concert; die Hochzeit, Hochzeiten = wedding
    der Sommer = summer; der Ausflug, Ausflüge = excursion; das Spiel, Spiele = game
""")
EVENTS = nouns("""
    der Film, Filme = film; der Kurs, Kurse = course; das Konzert, Konzerte = concert; das Spiel, Spiele = game
    die Prüfung, Prüfungen = exam; die Vorstellung, Vorstellungen = performance; der Unterricht = class, classes
    das Fest, Feste = celebration; die Besprechung, Besprechungen = meeting; der Vortrag, Vorträge = lecture
    die Party, Partys = party
""")
POSSESSED = nouns("""
    das Auto, Autos = car; das Fahrrad, Fahrräder = bike; der Garten, Gärten = garden; der Hund, Hunde = dog
    die Katze, Katzen = cat; der Fernseher, Fernseher = television; das Motorrad, Motorräder = motorbike
    das Boot, Boote = boat; der Balkon, Balkons = balcony; das Klavier, Klaviere = piano
    der Computer, Computer = computer; das Haus, Häuser = house
""")
NEEDED = nouns("""
    der Stuhl, Stühle = chair; das Handtuch, Handtücher = towel; die Decke, Decken = blanket
    der Arzt, Ärzte = doctor; das Taxi, Taxis = taxi; die Pause, Pausen = break; das Kissen, Kissen = pillow
    der Stadtplan, Stadtpläne = city map; die Fahrkarte, Fahrkarten = ticket; die Briefmarke, Briefmarken = stamp
    der Schlafsack, Schlafsäcke = sleeping bag; der Regenschirm, Regenschirme = umbrella
    der Termin, Termine = appointment; das Visum, Visa = visa; die Quittung, Quittungen = receipt
    das Ladegerät, Ladegeräte = charger; das Wörterbuch, Wörterbücher = dictionary
""")

# ------------------------------------------------------------------------------------------------------------ places

TOWN = places("""
    in in at: das Kino, Kinos = cinema; in in at: das Museum, Museen = museum
    in in at: das Theater, Theater = theatre; in in in: das Restaurant, Restaurants = restaurant
    in in in: das Café, Cafés = café; in in in: der Supermarkt, Supermärkte = supermarket
    in in in: der Park, Parks = park; in in at: das Schwimmbad, Schwimmbäder = swimming pool
    in in at: der Zoo, Zoos = zoo; in in in: das Büro, Büros = office
    in in in: die Bibliothek, Bibliotheken = library; in in in: das Krankenhaus, Krankenhäuser = hospital
    an an on: der Strand, Strände = beach; auf auf at: der Markt, Märkte = market
    an zu at: der Bahnhof, Bahnhöfe = station; an zu at: der Flughafen, Flughäfen = airport
    an zu at: die Universität, Universitäten = university; in zu in: die Apotheke, Apotheken = pharmacy
    in zu at: die Bäckerei, Bäckereien = bakery; in zu in: das Rathaus, Rathäuser = town hall
    in in in: die Kirche, Kirchen = church; in in in: die Buchhandlung, Buchhandlungen = bookshop
    an an at: der See, Seen = lake; in in at: das Stadion, Stadien = stadium
    bei zu at: der Bäcker, Bäcker = baker's; bei zu at: der Arzt, Ärzte = doctor's
    bei zu at: der Zahnarzt, Zahnärzte = dentist's; bei zu at: der Friseur, Friseure = hairdresser's
    in zu at: die Bank, Banken = bank; bei zu at: die Post = post office
""")
OUTINGS = tuple(
    place
    for place in TOWN
    if place.noun.german
    in ["Kino", "Museum", "Theater", "Restaurant", "Café", "Park", "Schwimmbad", "Zoo", "Strand", "See", "Stadion"]
)
WORKPLACES = places("""
    in in at: das Kino, Kinos = cinema; in in at: das Museum, Museen = museum
    in in at: das Theater, Theater = theatre; in in in: das Restaurant, Restaurants = restaurant
    in in in: das Café, Cafés = café; in in in: der Supermarkt, Supermärkte = supermarket
    in in in: das Büro, Büros = office; in in in: die Bibliothek, Bibliotheken = library
    in in in: das Krankenhaus, Krankenhäuser = hospital; an zu at: der Flughafen, Flughäfen = airport
    an zu at: die Universität, Universitäten = university; in zu in: die Apotheke, Apotheken = pharmacy
    in zu in: die Bank, Banken = bank; in in in: das Hotel, Hotels = hotel; in zu in: die Fabrik, Fabriken = factory
""")
SIGHTS = nouns("""
    der Bahnhof, Bahnhöfe = station; das Rathaus, Rathäuser = town hall; das Museum, Museen = museum
    das Schloss, Schlösser = castle; die Kirche, Kirchen = church; der Marktplatz, Marktplätze = market square
    die Universität, Universitäten = university; die Brücke, Brücken = bridge; der Dom, Dome = cathedral
    die Apotheke, Apotheken = pharmacy; das Krankenhaus, Krankenhäuser = hospital; die Bank, Banken = bank
    die Bushaltestelle, Bushaltestellen = bus stop; die Tankstelle, Tankstellen = petrol station
    der Flughafen, Flughäfen = airport; der Hafen, Häfen = harbour; das Hotel, Hotels = hotel
    die Toilette, Toiletten = toilet; das Stadion, Stadien = stadium; der Parkplatz, Parkplätze = car park
    der Supermarkt, Supermärkte = supermarket
""")
CITIES = pairs("""
    Berlin = Berlin; Hamburg = Hamburg; München = Munich; Köln = Cologne; Wien = Vienna; Leipzig = Leipzig
    Dresden = Dresden; Bremen = Bremen; Zürich = Zurich; Paris = Paris; London = London; Rom = Rome; Prag = Prague
    Warschau = Warsaw; Madrid = Madrid; Lissabon = Lisbon; Brüssel = Brussels; Kopenhagen = Copenhagen
    Athen = Athens; Frankfurt = Frankfurt; Stuttgart = Stuttgart; Salzburg = Salzburg
""")
COUNTRIES = pairs("""
    Deutschland = Germany; Österreich = Austria; Frankreich = France; Spanien = Spain; Italien = Italy
    Polen = Poland; England = England; Japan = Japan; Portugal = Portugal; Griechenland = Greece; Schweden = Sweden
    Dänemark = Denmark; Norwegen = Norway; Kanada = Canada; Indien = India; Brasilien = Brazil; Irland = Ireland
""")
LONG_DISTANCE = pairs("dem Zug = train; dem Bus = bus; dem Auto = car")
IN_TOWN = pairs("""
    dem Bus = bus; dem Auto = car; dem Fahrrad = bike; der Straßenbahn = tram; der U-Bahn = underground
    dem Taxi = taxi
""")
LINES = nouns("""
    der Zug, Züge = train; der Bus, Busse = bus; das Schiff, Schiffe = ship; das Flugzeug, Flugzeuge = plane
""")
