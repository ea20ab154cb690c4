"""Abbreviations after which a full stop does not end a sentence, for English and French.

The abbreviations are those of Moses' `nonbreaking_prefix.en` and `nonbreaking_prefix.fr`, without
the entries that have no effect: one with a dot inside ("i.e", "S.A.R") keeps its final dot by
another rule, and one with a slash ("n/réf") is cut at the slash before the list is consulted.
"""

import string

_ENGLISH = """
Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Drs Ens Gen Gov Hon
Hosp Hr Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps
Res Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg
Nos Nr Rs rev v vs
Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec
"""

_FRENCH = """
MM SS al ann apr art auj av boul ca cf chap contr dir env etc ex fasc fig fr fém hab ibid id inf
lib masc ms pl pp sec sect sing sq sqq suiv sup suppl tél vb vol vs éd
"""

# In French also the small letters, but for the word "a".
_ENGLISH_INITIALS = tuple(string.ascii_uppercase)
_FRENCH_INITIALS = (*string.ascii_uppercase, *string.ascii_lowercase[1:])

# Keep their dot whatever follows.
ALWAYS: dict[str, tuple[str, ...]] = {
    "en": (*_ENGLISH_INITIALS, *_ENGLISH.split()),
    "fr": (*_FRENCH_INITIALS, *_FRENCH.split()),
}

# Keep their dot only before a digit: whole in "No. 5", split in "No. Never."
BEFORE_DIGIT: dict[str, tuple[str, ...]] = {
    "en": ("Art", "No", "pp"),
    "fr": (),
}
