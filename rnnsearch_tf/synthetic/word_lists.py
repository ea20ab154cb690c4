"""Words of the built-in grammar: translations, inflection, and the words they go with.

A noun has a *kind* (person, food, idea, ...); adjectives and verbs say which kinds they go with, so
that doctors eat soup and parliaments adopt laws. An English word has one translation in each frame
it occurs in: the French sentence is a function of the English one. An underscore is a space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rnnsearch_tf.synthetic import morphology as forms


@dataclass(frozen=True, eq=False)
class Noun:
    """Noun in both languages; an empty plural marks a mass noun."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    kind: str


@dataclass(frozen=True, eq=False)
class Adjective:
    """Adjective; the rank orders English adjectives, and French ones the other way round."""

    english: str
    french: dict[tuple[bool, bool], str]  # by (feminine, plural)
    euphonic: str  # the form before a vowel, masculine singular: bel, nouvel, vieil
    kinds: frozenset[str]
    before: bool  # stands before its noun in French
    predicative: bool
    attributive: bool
    rank: int


@dataclass(frozen=True, eq=False)
class Verb:
    """Verb with its subjects and objects."""

    base: str
    third: str
    past: str
    participle: str
    ing: str
    particle: str
    french: str
    preposition: str
    subjects: frozenset[str]
    objects: tuple[Noun, ...] = ()
    reflexive: bool = False
    with_etre: bool = False
    core: bool = False  # said in every tense and person
    common: bool = False  # said in fewer; the rest in fewer still, to keep the vocabulary small
    stative: bool = False  # its English past is a French imparfait
    progressive: bool = False


def _entries(table: str) -> list[list[str]]:
    return [[cell.replace("_", " ") for cell in entry.split()] for entry in table.split(";")]


def _noun(kind: str, english: str, french: str, gender: str) -> Noun:
    english, _, english_plural = english.partition("/")
    french, _, french_plural = french.partition("/")
    mass = kind in ("dish", "drink", "money")
    return Noun(
        english,
        "" if mass else english_plural or forms.english_plural(english),
        french,
        "" if mass else french_plural or forms.french_plural(french),
        gender == "f",
        kind,
    )


NOUN_TABLE = {
    "person": """man/men homme m; woman/women femme f; boy garçon m; girl fille f; child/children
        enfant m; teacher professeur m; student étudiant m; doctor médecin m; nurse infirmière f;
        farmer agriculteur m; worker ouvrier m; lawyer avocat m; journalist
        journaliste m; actress actrice f; artist artiste m; soldier soldat m; citizen
        citoyen m; hero héros m""",
    "leader": """minister ministre m; president président m; mayor maire m; king roi m;
        queen reine f""",
    "kin": """mother mère f; father père m; brother frère m; sister sœur f; son fils m; friend
        ami m; neighbour voisin m""",
    "group": """government gouvernement m; parliament parlement m; council conseil m; committee
        comité m; commission commission f; company entreprise f; bank banque f; university
        université f""",
    "animal": "dog chien m; cat chat m; horse cheval m; bird oiseau m; cow vache f",
    "food": """apple pomme f; egg œuf m; cake gâteau m; orange orange f; potato
        pomme_de_terre/pommes_de_terre f; bean haricot m""",
    "dish": """bread pain m; cheese fromage m; soup soupe f; meat viande f; rice riz m;
        fish poisson m""",
    "drink": "water eau f; milk lait m; wine vin m; coffee café m; tea thé m",
    "money": "money argent m",
    "opening": "door porte f; window fenêtre f; box boîte f; bag sac m",
    "thing": """key clé f; car voiture f; bicycle vélo m; table table f; chair chaise f; clock
        horloge f; hat chapeau m; coat manteau m; umbrella parapluie m; picture tableau m; boat
        bateau m; flower fleur f; tree arbre m""",
    "text": """book livre m; letter lettre f; newspaper journal m; report rapport m; story
        histoire f; poem poème m; speech discours m; law loi f""",
    "public": """school école f; market marché m; station gare f; hospital hôpital m; museum
        musée m; restaurant restaurant m; airport aéroport m;
        church église f; library bibliothèque f; beach plage f""",
    "space": """garden jardin m; kitchen cuisine f; house maison f; village village m; city
        ville f; country pays m; street rue f; park parc m; region région f""",
    "idea": """plan projet m; decision décision f; question question f; problem problème m; policy
        politique f; crisis/crises crise f; reform réforme f; agreement accord m; idea idée f;
        proposal proposition f; debate débat m; answer réponse f; result
        résultat m; economy économie f""",
    "event": """meeting réunion f; conference conférence f; election élection f; party fête f;
        lesson leçon f; journey voyage m; war guerre f; concert concert m""",
}
NOUNS = {
    kind: tuple(_noun(kind, *entry) for entry in _entries(table))
    for kind, table in NOUN_TABLE.items()
}

_GROUPINGS = {"people": ("person", "kin")}

# english | french [feminine [euphonic]] | kinds | flags: b before the noun, p predicate only,
# a attribute only, and the rank: 0 size, 1 opinion, 2 age, 3 colour, 4 nationality, 5 domain.
ADJECTIVE_TABLE = """
small | petit petite | person animal thing opening public space group food | b 0
big | grand grande | animal thing opening space public food | b 0
beautiful | beau belle bel | person animal thing public space text | b 1
new | nouveau nouvelle nouvel | thing opening text public group idea leader space | ba 2
old | vieux vieille vieil | person-girl-boy-child leader kin-son animal thing space text | b 2
young | jeune | person leader kin animal | b 2
good | bon bonne | person dish drink food text idea | b 1
bad | mauvais mauvaise | idea dish drink food | b 1
pretty | joli jolie | thing opening space | b 1
long | long longue | text idea-debate event-party street | b 0
important | important | idea event text public group | 1
interesting | intéressant | idea event text public | 1
difficult | difficile | idea-answer event-concert text | 1
useful | utile | thing opening text idea | 1
dangerous | dangereux | animal idea-answer journey street | 1
necessary | nécessaire | reform law decision election meeting report | 1
clear | clair | idea-economy text | 1
famous | célèbre | person leader public text-law space-kitchen | 1
intelligent | intelligent | person leader kin animal-cow | 1
tall | grand | person | b 0
brave | courageux | person leader kin | 1
polite | poli | person kin | 1
patient | patient | person kin | 1
honest | honnête | person leader kin | 1
rich | riche | person kin king queen company bank country | 1
happy | heureux | person kin leader | 1
tired | fatigué | person leader kin animal | p 1
ill | malade | person kin leader animal | p 1
serious | sérieux | person leader kin problem crisis | 1
powerful | puissant | leader group | 1
expensive | cher chère | thing opening food dish drink restaurant | 1
heavy | lourd | opening thing-flower | 1
modern | moderne | thing-flower-tree public house city kitchen | 2
quiet | calme | public space | 1
fresh | frais fraîche | food dish drink-tea-coffee-wine | 1
cold | froid | dish drink | 1
hot | chaud | soup bread meat rice water milk coffee tea | 1
delicious | délicieux | food dish drink | 1
empty | vide | opening public-airport house street | 1
red | rouge | thing-tree opening | 3
white | blanc blanche | thing-tree opening horse cat dog house | 3
black | noir | thing-tree-flower opening animal | 3
green | vert | thing-flower-tree opening | 3
blue | bleu | thing-tree opening | 3
French | français | person-citizen king text dish wine car leader economy policy government | a 4
German | allemand | person car leader economy policy government bank city | a 4
Italian | italien | person text dish-bread car hat coffee leader company restaurant city | a 4
American | américain | person text car leader company university policy city | a 4
Hungarian | hongrois | person text leader wine economy parliament village | a 4
European | européen | group policy law economy country crisis agreement city text-letter | a 4
economic | économique | policy crisis reform agreement plan decision report problem | 5
political | politique | crisis reform agreement problem question decision speech debate | 5
social | social | policy crisis reform problem question law | 5
national | national | museum library policy election law debate | a 5
international | international | group airport agreement conference meeting crisis | a 5
public | public publique | hospital school debate meeting library park | a 5
agricultural | agricole | policy reform problem region question | a 5
"""


@cache
def nouns_of(description: str) -> tuple[Noun, ...]:
    """Return the nouns that words such as "food", "house" or "thing-tree" stand for."""
    chosen: list[Noun] = []
    for item in description.split():
        name, *excluded = item.split("-")
        everything = [noun for kind in NOUNS.values() for noun in kind]
        kinds = _GROUPINGS.get(name, (name,))
        named = [noun for noun in everything if noun.kind in kinds or noun.english == name]
        chosen += [noun for noun in named if noun.english not in excluded]
    return tuple(chosen)


def _adjective(line: str) -> Adjective:
    english, french, kinds, flags = (cell.strip() for cell in line.split("|"))
    masculine, *rest = french.split()
    feminine = rest[0] if rest else forms.french_feminine(masculine)
    return Adjective(
        english,
        {
            (False, False): masculine,
            (False, True): forms.french_plural(masculine),
            (True, False): feminine,
            (True, True): feminine + "s",
        },
        rest[1] if len(rest) > 1 else masculine,
        frozenset(noun.english for noun in nouns_of(kinds)),
        "b" in flags,
        "a" not in flags,
        "p" not in flags,
        int(flags[-1]),
    )


ADJECTIVES = tuple(_adjective(line) for line in ADJECTIVE_TABLE.strip().splitlines())


@cache
def adjectives_of(noun: Noun, predicative: bool = False) -> tuple[Adjective, ...]:
    """Return the adjectives that go with a noun, before it or after a copula."""
    wanted = [a for a in ADJECTIVES if noun.english in a.kinds]
    return tuple(a for a in wanted if (a.predicative if predicative else a.attributive))


# english forms [+ particle] | french [+ preposition] | subjects | objects | flags:
# C core, c common, S stative, P progressive, E with être, R reflexive.
# Regular English forms are left out.
VERB_TABLES = {
    "transitive": """
eat ate eaten | manger | people animal | food dish | CP
drink drank drunk | boire | people | drink | P
buy bought bought | acheter | people | food dish thing-tree book newspaper house | C
sell sold sold | vendre | people group | food dish thing-tree book newspaper house |
read read read | lire | people | text | CP
write wrote written | écrire | people | letter report story poem speech book | cP
see saw seen | voir | people | person kin animal thing-key opening house museum church king | c
find found found | trouver | people | key hat bag umbrella letter book picture box dog cat | c
open | ouvrir | people | opening letter |
close | fermer | people | opening |
visit | visiter | people | museum church city village region country house school |
build built built | construire | people group | school hospital museum house church boat |
listen + to | écouter | people | speech story concert teacher president debate |
wait + for | attendre | people | person kin leader-king answer result decision | P
look + for | chercher | people | key hat bag umbrella cat dog child answer | P
answer | répondre + à | people leader group | letter question kin teacher |
receive | recevoir | people group | letter report answer newspaper flower |
understand understood understood | comprendre | people | text idea-economy lesson |
choose chose chosen | choisir | people group | book hat restaurant plan car cake |
prepare | préparer | people | soup meat fish cake speech lesson party journey |
repair | réparer | people | car bicycle clock door window boat chair | P
help | aider | people group | person kin |
meet met met | rencontrer | people | person kin leader | c
thank | remercier | people group | person kin leader |
invite | inviter | people group | person kin leader | c
follow | suivre | people animal-cow | person dog horse car |
love | aimer | people | person kin animal space-street dish drink | cS
know knew known | connaître | people | person kin leader city museum answer result story | cS
adopt | adopter | group | law plan reform proposal report agreement | c
reject | rejeter | group leader | plan reform proposal agreement idea | c
support | soutenir | group leader | policy reform proposal idea decision plan |
announce | annoncer | group leader | decision reform election plan result war |
examine | examiner | group leader | question problem law report proposal plan |
change | changer | group leader | policy law plan | c
talk + about | parler + de | people leader | text idea event kin leader | cP
think thought thought + about | penser + à | people | kin idea journey election | cSP
need | avoir_besoin + de | people | key car umbrella doctor lawyer bicycle | cS
""",
    "intransitive": """
sleep slept slept | dormir | people animal | | cP
work | travailler | people | | CP
sing sang sung | chanter | people bird | | cP
dance | danser | people | | P
travel travelled travelled | voyager | people leader | |
run ran run | courir | people animal-bird-cow | | P
arrive | arriver | people leader | | cE
leave left left | partir | people leader | | cE
rest | reposer | people animal | | R
""",
    "happening": """
begin began begun | commencer | event-war | | c
end | terminer | event-war | | cR
""",
    "giving": """
give gave given | donner | people | food thing-tree book letter answer money | c
send sent sent | envoyer | people group | letter report book flower picture box |
show showed shown | montrer | people | text house garden thing-tree |
offer | offrir | people | flower book cake hat picture bicycle |
""",
    "motion": """
go went gone | aller | people leader | | CE
return | retourner | people leader | | E
come came come | venir | people leader | | cE
""",
    "saying": """
say said said | dire | people leader group | | c
think thought thought | penser | people leader | | cS
believe | croire | people leader | | S
know knew known | savoir | people leader | | cS
hope | espérer | people leader | | S
announce | annoncer | leader group | |
explain | expliquer | people leader group | |
forget forgot forgotten | oublier | people leader | |
""",
    "infinitive": """
want | vouloir | people leader group | | CS
hope | espérer | people leader | | S
decide | décider + de | people leader group | |
try | essayer + de | people leader group | | P
begin began begun | commencer + à | people | |
refuse | refuser + de | people leader group | |
learn | apprendre + à | person kin | | P
promise | promettre + de | people leader group | |
forget forgot forgotten | oublier + de | people | |
""",
    "dwelling": """
live + in | habiter | people | | cS
""",
}


def _verb(line: str) -> Verb:
    english, french, subjects, objects, flags = (cell.strip() for cell in line.split("|"))
    english, _, particle = english.partition(" + ")
    french, _, preposition = french.partition(" + ")
    base, *parts = english.split()
    past, participle = parts or (forms.english_past(base),) * 2
    return Verb(
        base,
        forms.english_plural(base),
        past,
        participle,
        forms.english_ing(base),
        particle,
        french.replace("_", " "),
        preposition,
        frozenset(noun.english for noun in nouns_of(subjects)),
        nouns_of(objects),
        reflexive="R" in flags,
        with_etre="E" in flags or "R" in flags,
        core="C" in flags,
        common="C" in flags or "c" in flags,
        stative="S" in flags,
        progressive="P" in flags,
    )


VERBS = {
    frame: tuple(_verb(line) for line in table.strip().splitlines())
    for frame, table in VERB_TABLES.items()
}


@cache
def agents_of(verb: Verb) -> tuple[Noun, ...]:
    """Return the nouns that can be the subject of a verb."""
    return tuple(n for kind in NOUNS.values() for n in kind if n.english in verb.subjects)


@cache
def verbs_taking(noun: str) -> tuple[Verb, ...]:
    """Return the transitive verbs with a noun as a possible direct object in both languages."""
    direct = [verb for verb in VERBS["transitive"] if not verb.preposition]
    return tuple(verb for verb in direct if any(n.english == noun for n in verb.objects))
