"""Abbreviations after which a full stop does not end a sentence, for English and French.

The abbreviations are those of Moses' `nonbreaking_prefix.en` and `nonbreaking_prefix.fr`, without
the entries that can decide nothing: one with a dot inside ("i.e", "S.A.R") keeps its final dot by
another rule, and one with a slash ("n/réf") is cut at the slash before the list is consulted.
"""

import string

_INITIALS = tuple(string.ascii_uppercase)

# Keep their dot whatever follows.
ALWAYS: dict[str, tuple[str, ...]] = {
    "en": (
        *_INITIALS,
        *(
            "Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Drs"
        ).split(),
        *(
            "Ens Gen Gov Hon Hosp Hr Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr"
        ).split(),
        *("Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg").split(),
        *("Nos Nr Rs rev v vs").split(),
        *("Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec").split(),
    ),
    "fr": (
        *_INITIALS,
        *(letter for letter in string.ascii_lowercase if letter != "a"),  # "a" is a word
        *("MM SS al ann apr art auj av boul ca cf chap contr dir env etc ex fasc fig fr").split(),
        *("fém hab ibid id inf lib masc ms pl pp sec sect sing sq sqq suiv sup suppl").split(),
        *("tél vb vol vs éd").split(),
    ),
}

# Keep their dot only before a digit: "No. 5", but "He said no ."
BEFORE_DIGIT: dict[str, tuple[str, ...]] = {
    "en": ("Art", "No", "pp"),
    "fr": (),
}
