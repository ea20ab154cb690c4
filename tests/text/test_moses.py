"""Moses tokenization: the rules one by one, against sacremoses, in graphs and SavedModels."""

import copy
import gzip
import itertools
import pickle
import re
import sys
import unicodedata

import pytest
import regex
import sacremoses
import tensorflow as tf
from hypothesis import given, settings, strategies

from rnnsearch_tf.config import MORE_MOSES_LANGUAGES
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.text import letters
from rnnsearch_tf.text.composed_form import INVISIBLE
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.nonbreaking_prefixes import read_prefixes

TOKENIZERS = {language: MosesTokenizer(language) for language in ("en", "fr")}

# Line -> its tokens, separated by spaces.
ENGLISH_RULES = {
    "Hello, world!": "Hello , world !",
    "A man's dog": "A man 's dog",
    "I don't know": "I don 't know",
    "the dogs' bowls": "the dogs ' bowls",
    "I don’t": "I don 't",
    "the 1990’s ‘sand’": "the 1990 's ‘ sand ’",
    "the 1990's": "the 1990 's",
    "a 6'x 4'4 door": "a 6'x 4 ' 4 door",
    "in '99": "in ' 99",
    "say 'yes' now": "say ' yes ' now",
    # At the ends of a line, and one letter apart, Moses does not see an apostrophe.
    "'tis the dogs'": "'tis the dogs'",
    "rock'n'roll": "rock 'n'roll",
    "He said 'stop.'": "He said ' stop . '",
    "1,000.50 euros": "1,000.50 euros",
    "red,green, 5,x 3,4,": "red , green , 5 , x 3,4 ,",
    "Mr. Smith": "Mr. Smith",
    "a [UNK], ([UNK]'s) x[UNK].": "a [UNK] , ( [UNK] ' s ) x [UNK] .",
    "He met Mr.": "He met Mr.",
    "See No. 5 there": "See No. 5 there",
    "No. That is pp. two": "No . That is pp. two",
    "He left. She stayed.": "He left . She stayed .",
    "about 3 in. long": "about 3 in. long",
    "the U.S. Senate": "the U.S. Senate",
    "version 1.2. Then": "version 1.2 . Then",
    "wait... what.. no.": "wait ... what .. no .",
    'a "quoted" word': 'a " quoted " word',
    "a well-known fact - really": "a well-known fact - really",
    "see http://a.org/b?c=d": "see http : / / a.org / b ? c = d",
    "me@mail.org is 50%": "me @ mail.org is 50 %",
    "(a) [b] $5 & <i>": "( a ) [ b ] $ 5 & < i >",
    "a|b * c_d": "a | b * c _ d",
    "&amp;": "& amp ;",
    ". x": ". x",
    "a\ufeff hy\u00adphen\u200b,b\u200e\u00ad": "a hyphen , b",
    # Vowel points and vowel signs are letters; the virama, which is none, stands alone.
    "العَرَبِيَّة, שָׁלוֹם": "العَرَبِيَّة , שָׁלוֹם",
    "हिन्दी": "हिन ् दी",
    "a. \u207fx": "a. \u207fx",  # a small letter by Lowercase, not by category
    "a\x1cb\x1f c": "a b c",
    "a 中文字 b": "a 中文字 b",  # sacremoses splits it
}
FRENCH_RULES = {
    "L'homme d'État": "L' homme d' État",
    "aujourd'hui": "aujourd' hui",
    "l’été d’ici": "l' été d' ici",
    "qu'il n'y a": "qu' il n' y a",
    "les années '60": "les années ' 60",
    "dit 'oui' hier": "dit ' oui ' hier",
    "l'«ami»": "l ' « ami »",
    "3,5 millions, oui": "3,5 millions , oui",
    "Vraiment ? Oui !": "Vraiment ? Oui !",
    "MM. Dupont et M. Le": "MM. Dupont et M. Le",
    "des pommes, etc. Puis": "des pommes , etc. Puis",
    "Il part. Elle reste.": "Il part . Elle reste .",
    "p.ex. ceci": "p.ex. ceci",
    "art. 5 et n. 3": "art. 5 et n. 3",
    "Il l' a. Bon": "Il l ' a . Bon",
    "cœur, garçon... été": "cœur , garçon ... été",
    "peut-être": "peut-être",
}

# Tokens, separated by spaces -> their line.
ENGLISH_JOINS = {
    "Hello , world !": "Hello, world!",
    "A man 's dog": "A man's dog",
    "I don 't know": "I don't know",
    "the dogs ' bowls": "the dogs' bowls",
    "the man ' x ' y": "the man 'x' y",
    "'s first": "'s first",
    'a " quoted " word': 'a "quoted" word',
    '" a " and " b "': '"a" and "b"',
    "say „ yes “ now": "say „yes“ now",
    "say “ yes ” now": "say “yes ” now",
    "a `` b `` c": "a ``b`` c",
    "it costs $ 5 ( or € 4 )": "it costs $5 (or €4)",
    "[ a ] { b } 50 %": "[a] {b} 50%",
    "what ?! Oh ...": "what?! Oh...",
    "well @-@ known": "well-known",
    "¿ a ? ¡ b !": "¿a? ¡b!",
    "中文 字 a": "中文字 a",
}
FRENCH_JOINS = {
    "L' homme d' État": "L'homme d'État",
    "l' 11 mai": "l' 11 mai",
    "Vraiment ? Oui !": "Vraiment ? Oui !",
    "50 % : oui ; non .": "50 % : oui ; non.",
    "quoi ?! ( ! )": "quoi?! ( !)",
    "« ami »": "« ami »",
    'un " mot " ici': 'un "mot" ici',
    "man 's": "man 's",
    "les ' x ' y": "les 'x' y",
    # A token that begins with a CJK character is never an elision; one that ends so is.
    "字' a": "字' a",
    "l字' a": "l字'a",
    "l' 字": "l'字",
}

SENTENCES = [
    "Two young, White males are outside near many bushes.",
    "It's John's turn: he'll say \"I can't!\", won't he?",
    "The U.S. economy grew by 2.5% in Q3, i.e. faster than in the U.K.",
    "In the U.S.A.",
    "Dr. Jones, Ph.D., lives at No. 10, St. James St. He's 45.",
    "No. 5 and no. 6; pp. 12-15; Art. 3; Art. X; Nos. 1,2,3",
    "We paid $1,234.56 (about €1.100,50) for it...",
    "Rock'n'roll o'clock O'Brien's 'twas ''double'' 'single'",
    "He said: 'Go home.'",
    '"Why?" - "Because!" -- he said---and left.',
    "E-mail: john.doe@example.com, or visit http://www.example.com/~x?y=1&z=2#top.",
    "1,2,3,a,4,b,,c ,5, 6,,7 ,,, 8,",
    "A.B.C. corp. a. b. c. vs. v. Foo",
    "Wait.. what... no.... yes.' end",
    "x.'",
    "...'",
    "...",
    ". . .",
    "'",
    "''",
    ",",
    ",5",
    "5,",
    ".",
    "..",
    "-",
    "@-@",
    "<b>bold</b> [1] {2} |3| \\4/ ^5~ `6` ``7''",
    "#hashtag @user R&D AT&T 100% 5°C ±3 ½ ² ª º №7 Ⅷ ⅷ",
    "Mr.Smith Mr. smith Mr.",
    "the boys' toys, the boss' car and James's hat",
    "'quoted at start' and end'",
    "tab\tnewline\nreturn\rvertical\x0b form\x0c feed",
    "bell\x07 null\x00 escape\x1b unit\x1f done",
    "no\u00a0break thin\u2009space narrow\u202fspace ideographic\u3000space line\u2028end",
    "zero\u200bwidth byte\ufeff order soft\u00adhyphen",
    "   leading and trailing   ",
    "   'leading apostrophe",
    "curly \u2018single\u2019 and \u201cdouble\u201d \u201elow\u201c it\u2019s",
    "L'homme qu'il a vu aujourd'hui n'est pas d'ici.",
    "« C'est-à-dire », dit-il, « qu'est-ce que c'est ? »",
    "Il y en a 1 234,56 € ; soit 50 % !",
    "M. Dupont, MM. Durand et Mme. Martin, etc. Puis etc.",
    "Voir l'art. 3, p.ex. le chap. IV, c.-à-d. la fig. 2, n/réf. 7, éd. Foo, tél. 01.02.03.04",
    "l'11 septembre, d'1 kg, l'«ami», l'\"ami\", L'ÉTÉ, l' été",
    "jusqu'à l'aéroport d'Orly-Sud, à 10h30.",
    "Ça coûte 3,50$ (ou 3€) : c'est cher!",
    "Où est-ce?! Là... là-bas.. ici.",
    "presqu'île entr'ouvert prud'homme qu'",
    "ŒUVRE cœur naïve Noël façade",
    "les années '90 et l'an 2000's",
    "e\u0301te\u0301 combined accents",
    "Ελληνικά. και Русский. текст. Дальше ß. Straße",
    "\U0001f600 emoji\U0001f44d\U0001f3fd done.",
    "a.b.c d.e. f.5. 5.6. 5.a. .5 .a. -.5 v.2.",
    'word." word.) (word.) word.; word.: Next',
    "I. II. III. iv. A1. a1. 1st. Next",
    "don't. can't. l'a. Next",
    "100's 100's. 5's' 's 's' a's's",
    "I'd've y'all'd've fo'c's'le",
    "",
    "   ",
]


def tokenize(language: str, lines: list[str]) -> list[list[str]]:
    rows = TOKENIZERS[language].tokenize(tf.constant(lines, tf.string)).to_list()
    return [[token.decode() for token in row] for row in rows]


def ragged(rows: list[list[str]]) -> tf.RaggedTensor:
    return tf.ragged.constant(rows, dtype=tf.string, ragged_rank=1)


def detokenize(language: str, rows: list[list[str]]) -> list[str]:
    return [line.decode() for line in TOKENIZERS[language].detokenize(ragged(rows)).numpy()]


def sacremoses_tokenize(language: str, lines: list[str]) -> list[list[str]]:
    reference = sacremoses.MosesTokenizer(language)
    normal = [re.sub(r"(\w)’([^\W\d_])", r"\1'\2", line) for line in lines]
    normal = [re.sub(f"[{INVISIBLE}]", "", line) for line in normal]
    return [reference.tokenize(line, escape=False) for line in normal]


def sacremoses_detokenize(language: str, rows: list[list[str]]) -> list[str]:
    reference = sacremoses.MosesDetokenizer(language)
    return [reference.detokenize(row, unescape=False) for row in rows]


def cases(english: dict[str, str], french: dict[str, str]) -> list[tuple[str, str, str]]:
    return [("en", *item) for item in english.items()] + [("fr", *item) for item in french.items()]


@pytest.mark.parametrize(("language", "line", "tokens"), cases(ENGLISH_RULES, FRENCH_RULES))
def test_tokenize_rule(language, line, tokens):
    assert tokenize(language, [line]) == [tokens.split(" ")]


@pytest.mark.parametrize(("language", "tokens", "line"), cases(ENGLISH_JOINS, FRENCH_JOINS))
def test_detokenize_rule(language, tokens, line):
    assert detokenize(language, [tokens.split(" ")]) == [line]


@pytest.mark.parametrize("language", MORE_MOSES_LANGUAGES)
def test_other_languages_as_in_sacremoses(monkeypatch, language):
    words = sacremoses.MosesTokenizer(language).NONBREAKING_PREFIXES
    words = [word.split(" ")[0] for word in words[:: max(len(words) // 40, 1)] + words[-9:]]
    lines = [f"x {word}. {after}" for word in words for after in ("Word", "5", "")]
    lines += [
        *SENTENCES,
        "Das Buch z.B. v. Dr. Ü. Nr. 5, Nr. Ä 'ja' geht's",
        "L'ora dell'art. 3, No. X",
    ]
    tokenizer = MosesTokenizer(language, read_prefixes(language))
    monkeypatch.setitem(TOKENIZERS, language, tokenizer)
    expected = sacremoses_tokenize(language, lines)
    assert tokenize(language, lines) == expected
    if language != "cs":
        assert detokenize(language, expected) == sacremoses_detokenize(language, expected)


def test_abbreviations_that_are_read(monkeypatch):
    assert read_prefixes("en") == read_prefixes("fr") == ""
    assert {"Nr#", "nr#", "A"} <= set(read_prefixes("nl").split())
    made = [MosesTokenizer("de", prefixes) for prefixes in ("Nr", "Abb", "Nr#")]
    assert len({tokenizer.fingerprint() for tokenizer in made}) == 3
    given = MosesTokenizer("nl", read_prefixes("nl"))
    assert MosesTokenizer("nl").fingerprint() == given.fingerprint()
    monkeypatch.setattr("rnnsearch_tf.extras.is_installed", lambda name: False)
    assert read_prefixes("en") == ""
    with pytest.raises(InputError, match=r'pip install "rnnsearch-tf\[moses\] @ git\+'):
        read_prefixes("de")


def test_a_copy_of_a_tokenizer_in_use():
    tokenizer = MosesTokenizer("en")
    assert tokenizer.tokenize(["It's."]).to_list() == [[b"It", b"'s", b"."]]
    for copied in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert copied.tokenize(["It's."]).to_list() == [[b"It", b"'s", b"."]]


def test_a_tokenizer_that_nothing_else_refers_to():
    assert MosesTokenizer("en").tokenize(["It's."]).to_list() == [[b"It", b"'s", b"."]]


def test_prefixes_that_are_given_replace_those_that_are_built_in():
    (tokens,) = MosesTokenizer("en", "Foo").tokenize(["Foo. Mr. Bar"]).to_list()
    assert tokens == [b"Foo.", b"Mr", b".", b"Bar"]


def test_unknown_language_is_an_error_that_names_the_known_ones():
    with pytest.raises(ValueError, match="en, fr"):
        MosesTokenizer("fi")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_sentences_as_in_sacremoses(language):
    expected = sacremoses_tokenize(language, SENTENCES)
    assert tokenize(language, SENTENCES) == expected
    assert detokenize(language, expected) == sacremoses_detokenize(language, expected)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_detokenize_of_arbitrary_tokens_as_in_sacremoses(language):
    rows = [sentence.split(" ") for sentence in SENTENCES]
    assert detokenize(language, rows) == sacremoses_detokenize(language, rows)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_prefix_that_sacremoses_knows(language):
    prefixes = sacremoses.MosesTokenizer(language).NONBREAKING_PREFIXES
    prefixes = [prefix.split(" ")[0] for prefix in prefixes]
    lines = [f"x {prefix}. {after}" for prefix in prefixes for after in ("Word", "5", "")]
    assert tokenize(language, lines) == sacremoses_tokenize(language, lines)


def _assigned() -> str:
    """Return all characters that Python and TensorFlow know, but surrogates and private ones."""
    characters = map(chr, range(sys.maxunicode + 1))
    text = "".join(c for c in characters if unicodedata.category(c) not in ("Cn", "Cs", "Co"))
    unknown = r"[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{Cc}\p{Cf}]"  # to an older version of Unicode
    return tf.strings.regex_replace(text, unknown, "").numpy().decode()


def test_letters_and_small_letters_are_unicodes_alphabetic_and_lowercase():
    text = _assigned()
    for inside, name in ((letters.LETTER, "Alphabetic"), (letters.LOWER, "Lowercase")):
        ours = tf.strings.regex_replace(text, f"[^{inside}]", "").numpy().decode()
        theirs = regex.findall(rf"\p{{{name}}}", text)
        # A few dozen characters get or lose the property from one version of Unicode to the next.
        assert len(set(ours) ^ set(theirs)) <= 50, name


def _blocks_with_one_opinion() -> list[str]:
    """Return the characters that Moses and sacremoses have one opinion of, by 128 code points.

    Left out are the letters that sacremoses lacks or has in addition (see the module's docstring).
    """
    text, reference = _assigned(), sacremoses.MosesTokenizer
    disputed = {c for c in text if sacremoses.util.is_cjk(c)}
    for table, pattern in (
        (reference.IsAlpha, r"\p{Alphabetic}"),
        (reference.IsAlnum, r"[\p{Alphabetic}\p{Nd}]"),
        (reference.IsN, r"\p{N}"),
        (reference.IsLower, r"\p{Lowercase}"),
        (sacremoses.MosesDetokenizer.IsSc, r"\p{Sc}"),
    ):
        disputed |= set(table) ^ set(regex.findall(pattern, text))
    agreed = (c for c in text if c not in disputed)
    return ["".join(block) for _, block in itertools.groupby(agreed, lambda c: ord(c) // 128)]


_BLOCKS = strategies.deferred(
    lambda: strategies.sampled_from(_blocks_with_one_opinion()).flatmap(strategies.sampled_from)
)
_TEXT = strategies.text(strategies.one_of(strategies.sampled_from(".'`, -sa5\""), _BLOCKS))


@pytest.mark.parametrize("language", ["en", "fr"])
@settings(max_examples=30, deadline=None, derandomize=True)
@given(lines=strategies.lists(_TEXT, min_size=1, max_size=30))
def test_all_scripts_as_in_sacremoses(language, lines):
    expected = sacremoses_tokenize(language, lines)
    assert tokenize(language, lines) == expected
    assert detokenize(language, expected) == sacremoses_detokenize(language, expected)


def test_blank_lines_and_empty_batches():
    tokens = TOKENIZERS["en"].tokenize(tf.constant(["", "a b", " \t\u00a0\n"]))
    assert tokens.to_list() == [[], [b"a", b"b"], []]
    assert TOKENIZERS["en"].detokenize(tokens).numpy().tolist() == [b"", b"a b", b""]
    empty = TOKENIZERS["fr"].tokenize(tf.constant([], tf.string))
    assert empty.to_list() == []
    assert TOKENIZERS["fr"].detokenize(empty).shape == (0,)
    assert detokenize("fr", [[], []]) == ["", ""]


def test_invalid_utf8_is_replaced():
    tokens = TOKENIZERS["en"].tokenize(tf.constant([b"caf\xe9 ol\xc3\xa9", b"\xff"]))
    assert tokens.to_list() == [
        [b"caf", "\ufffd".encode(), "olé".encode()],
        ["\ufffd".encode()],
    ]
    line = TOKENIZERS["en"].detokenize(tf.RaggedTensor.from_row_splits([b"a\xff", b"."], [0, 2]))
    assert line.numpy().tolist() == ["a\ufffd.".encode()]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_line_of_ten_thousand_words(language):
    line = " ".join(SENTENCES[i % len(SENTENCES)] for i in range(2000))
    assert len(line.split()) > 10_000
    expected = sacremoses_tokenize(language, [line])
    assert tokenize(language, [line, "short one."]) == [*expected, ["short", "one", "."]]
    assert detokenize(language, expected) == sacremoses_detokenize(language, expected)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_line_does_not_depend_on_its_neighbors(language):
    # A row that opens a quotation, one that ends in a prefix, one that begins with a small letter.
    lines = ['she said " yes', "He met Mr.", "v.", "the dogs '", "a ' b \" c", "", *SENTENCES]
    together = tokenize(language, lines)
    assert together == [tokenize(language, [line])[0] for line in lines]
    assert detokenize(language, together) == [detokenize(language, [row])[0] for row in together]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_real_text_as_in_sacremoses(language, real_text):
    for name in ("multi30k/valid", "europarl/valid", "wmt_news/newstest2013"):
        path = real_text / f"{name}.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\n") for line in file]
        tokens = sacremoses_tokenize(language, lines)
        joined = sacremoses_detokenize(language, tokens)
        assert share_equal(tokenize(language, lines), tokens) >= 0.999, name
        assert share_equal(detokenize(language, tokens), joined) >= 0.999, name


def share_equal(ours: list, theirs: list) -> float:
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(theirs)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_grammars_tokens_are_moses_tokens(language):
    from rnnsearch_tf.synthetic.grammar import generate

    pairs = list(generate(500, 5, 1, 60))
    texts = [p.source if language == "en" else p.target for p in pairs]
    tokens = [list(p.source_tokens if language == "en" else p.target_tokens) for p in pairs]
    tokenizer = MosesTokenizer(language)
    rows = tokenizer.tokenize(tf.constant(texts))
    assert [[token.decode() for token in row] for row in rows.to_list()] == tokens
    assert [text.decode() for text in tokenizer.detokenize(rows).numpy()] == texts
