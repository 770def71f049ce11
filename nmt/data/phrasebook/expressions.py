"""Fixed everyday expressions: greetings, thanks, apologies, wishes, small talk.

In flows nothing, out flow `Sentence` objects; they hold no combinations, so all of them are for training.
"""

from random import Random

from nmt.data.phrasebook.sentence import Pattern, Sentence
from nmt.data.phrasebook.words import pairs

EXPRESSIONS = """
Guten Morgen! = Good morning!
Guten Tag! = Hello!
Guten Abend! = Good evening!
Gute Nacht! = Good night!
Auf Wiedersehen! = Goodbye!
Tschüss, bis morgen! = Bye, see you tomorrow!
Bis bald! = See you soon!
Bis später! = See you later!
Herzlich willkommen! = Welcome!
Vielen Dank! = Thank you very much!
Danke schön! = Thank you!
Vielen Dank für Ihre Hilfe! = Thank you very much for your help!
Vielen Dank für die Einladung! = Thank you very much for the invitation!
Bitte schön! = You're welcome!
Gern geschehen! = My pleasure!
Entschuldigung! = Excuse me!
Es tut mir leid. = I am sorry.
Das tut mir sehr leid. = I am very sorry about that.
Kein Problem! = No problem!
Das macht nichts. = It doesn't matter.
Keine Sorge! = Don't worry!
Wie geht es Ihnen? = How are you?
Wie geht es dir, Anna? = How are you, Anna?
Mir geht es gut, danke. = I am well, thank you.
Nicht so gut. = Not so well.
Freut mich! = Pleased to meet you!
Wie heißen Sie? = What is your name?
Wie heißt das auf Deutsch? = What is that called in German?
Was bedeutet dieses Wort? = What does this word mean?
Können Sie das bitte wiederholen? = Can you please repeat that?
Sprechen Sie bitte langsamer. = Please speak more slowly.
Ich verstehe nicht. = I don't understand.
Ich weiß es nicht. = I don't know.
Keine Ahnung! = No idea!
Wie spät ist es? = What time is it?
Die Rechnung, bitte! = The bill, please!
Guten Appetit! = Enjoy your meal!
Prost! = Cheers!
Gesundheit! = Bless you!
Gute Besserung! = Get well soon!
Herzlichen Glückwunsch! = Congratulations!
Alles Gute zum Geburtstag! = Happy birthday!
Frohe Weihnachten! = Merry Christmas!
Ein gutes neues Jahr! = Happy New Year!
Frohe Ostern! = Happy Easter!
Gute Reise! = Have a good trip!
Schönes Wochenende! = Have a nice weekend!
Schönen Urlaub! = Have a nice holiday!
Viel Glück! = Good luck!
Viel Spaß! = Have fun!
Viel Erfolg! = Every success!
Hilfe! = Help!
Vorsicht! = Watch out!
Achtung, Stufe! = Mind the step!
Rufen Sie die Polizei! = Call the police!
Rufen Sie einen Krankenwagen! = Call an ambulance!
Herein! = Come in!
Einen Moment, bitte. = One moment, please.
Natürlich! = Of course!
Das stimmt. = That is right.
Das stimmt nicht. = That isn't right.
Vielleicht. = Perhaps.
Schade! = What a pity!
Ich habe Hunger und Durst. = I am hungry and thirsty.
Mir ist kalt. = I am cold.
Mir ist heiß. = I am hot.
Mir ist schlecht. = I feel sick.
Ich habe mich verlaufen. = I have lost my way.
Ich bin zum ersten Mal hier. = I am here for the first time.
Wo sind die Toiletten? = Where are the toilets?
Der Eintritt ist frei. = Admission is free.
Rauchen verboten! = No smoking!
Es ist mir egal. = I don't mind.
Das ist eine gute Idee. = That is a good idea.
Ich bin einverstanden. = I agree.
Ich freue mich, Sie kennenzulernen. = I am pleased to meet you.
Grüßen Sie Ihre Frau von mir! = Give my regards to your wife!
Was ist los? = What is the matter?
Was ist passiert? = What happened?
Alles in Ordnung? = Is everything all right?
Übung macht den Meister. = Practice makes perfect.
Ende gut, alles gut. = All's well that ends well.
Das kommt darauf an. = It depends.
So ein Zufall! = What a coincidence!
Das Leben ist schön. = Life is beautiful.
"""
SENTENCES = tuple(Sentence(left, right) for left, right in pairs(EXPRESSIONS))


def expression(rng: Random) -> Sentence:
    return rng.choice(SENTENCES)


PATTERNS: tuple[tuple[int, Pattern], ...] = ((2, expression),)
