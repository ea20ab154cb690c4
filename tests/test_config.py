"""Settings to JSON and back, the errors a wrong file gives, and the paper's numbers."""

import dataclasses
import json

import pytest

from rnnsearch_tf.config import Config, DecodingConfig, ModelConfig, TrainingConfig
from rnnsearch_tf.digests import unsealed
from rnnsearch_tf.presets import PRESETS

PAPERS = ("rnnsearch-30", "rnnsearch-50", "rnnencdec-30", "rnnencdec-50")


def changed(**values: object) -> str:
    """The JSON of the default config with some top-level fields replaced, and no digest."""
    return json.dumps({**unsealed(json.loads(Config().to_json())), **values})


def test_config_survives_json():
    config = Config(
        ModelConfig(architecture="rnnencdec", hidden_size=7, dropout=0.25),
        TrainingConfig(max_length=13, optimizer="adam", learning_rate=1e-3, epochs=3),
        DecodingConfig(beam_size=3, allow_unknown=False),
        source_language="fr",
        target_language="en",
        source_vocabulary="12ab",
        target_vocabulary="34cd",
    )
    assert Config.from_json(config.to_json()) == config


def test_whole_number_is_read_as_a_float_where_one_is_meant():
    config = Config.from_json(changed(training={"learning_rate": 2}))
    assert config.training.learning_rate == 2.0
    assert type(config.training.learning_rate) is float


def test_missing_fields_have_their_defaults():
    assert Config.from_json('{"format": 1, "model": {"hidden_size": 3}}') == Config(
        model=ModelConfig(hidden_size=3)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ('{"format": 1', "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ("{}", "format None; this version reads format 1"),
        (changed(format=2), "format 2; this version reads format 1"),
        (changed(format=True), "format True; this version reads format 1"),
        (changed(color="red"), "unknown field color"),
        (changed(model={"layers": 2}), "unknown field layers"),
        (changed(training={"batch_size": 80, "gpu": 1, "beam": 2}), "unknown field beam, gpu"),
        (changed(model=3), "model: expected an object"),
        (changed(model={"hidden_size": "3"}), "hidden_size: expected int, not '3'"),
        (changed(model={"hidden_size": 3.0}), "hidden_size: expected int, not 3.0"),
        (changed(model={"hidden_size": True}), "hidden_size: expected int, not True"),
        (changed(model={"dropout": None}), "dropout: expected float, not None"),
        (changed(decoding={"allow_unknown": 1}), "allow_unknown: expected bool, not 1"),
        (changed(source_language=["en"]), "source_language: expected str"),
        (
            changed(source_language="fi"),
            "source_language 'fi': the Moses tokenizer has",
        ),
        (changed(model={"dropout": 10**400}), "dropout: expected float, not 1000"),
        (
            changed(model={"kind": "transformer"}),
            "architecture 'transformer': choose ",
        ),
        (changed(training={"batch_size": 0}), "batch_size 0: must be at least 1"),
    ],
)
def test_wrong_json_is_an_error_that_names_the_field(text, message):
    with pytest.raises(ValueError, match=message):
        Config.from_json(text)


def test_a_change_by_hand_is_told_until_the_digest_is_deleted():
    text = Config().to_json()
    edited = text.replace('"step_order": "look_generate', '"step_order": "look_update')
    edited = edited.replace("look_update_update", "look_update_generate")
    assert Config.from_json(" ".join(text.split("\n"))) == Config()
    with pytest.raises(ValueError, match="to accept the change, delete that field"):
        Config.from_json(edited)
    values = json.loads(edited)
    del values["sha256"]
    order = Config.from_json(json.dumps(values)).model.step_order
    assert order == "look_update_generate"


@pytest.mark.parametrize(
    ("config_class", "field", "value"),
    [
        (ModelConfig, "hidden_size", 0),
        (ModelConfig, "hidden_size", 10**12),
        (ModelConfig, "hidden_size", "256"),
        (ModelConfig, "architecture", "lstm"),
        (ModelConfig, "dropout", 1.0),
        (ModelConfig, "dropout", float("nan")),
        (TrainingConfig, "learning_rate", 0.0),
        (TrainingConfig, "learning_rate", float("inf")),
        (TrainingConfig, "seed", -1),
        (TrainingConfig, "epochs", 3.0),  # of another type
        (DecodingConfig, "beam_size", 1_000_000),
        (DecodingConfig, "length_penalty", -0.5),
        (DecodingConfig, "min_length_ratio", 3.5),  # above max_length_ratio's 3
    ],
)
def test_value_out_of_range_is_an_error_that_names_the_field(config_class, field, value):
    with pytest.raises(ValueError, match=field.replace("_", "[_ ]")):
        config_class(**{field: value})


def test_a_part_that_is_no_config_is_refused():
    with pytest.raises(ValueError, match="decoding: expected DecodingConfig, not "):
        Config(decoding={"beam_size": 5})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="training: expected TrainingConfig, not None"):
        Config().with_settings(training=None, epochs=3)


@pytest.mark.parametrize("name", PAPERS)
def test_paper_presets_hold_the_papers_numbers(name):
    architecture, length = name.split("-")
    model, training = PRESETS[name].model, PRESETS[name].training
    assert model.architecture == architecture
    assert model.hidden_size == model.attention_size == 1000  # n, n'
    assert model.embedding_size == 620  # m
    assert model.maxout_size == 500  # l
    assert model.source_vocabulary_size == model.target_vocabulary_size == 30_000  # K
    assert (model.initial_weights, model.dropout) == ("paper", 0.0)
    assert model.step_order == "look_generate_update"
    assert training.max_length == int(length)
    assert training.batch_size == 80
    assert (training.optimizer, training.learning_rate) == ("adadelta", 1.0)
    assert (training.learning_rate_schedule, training.clip_norm) == ("constant", 1.0)


def test_every_size_comes_in_both_architectures():
    names = {name for name in PRESETS if not name.endswith("*")}
    pairs = {name.split("-", 1)[1] for name in names}
    assert names == {f"{name}-{size}" for name in ("rnnsearch", "rnnencdec") for size in pairs}
    for size in pairs:
        search, baseline = PRESETS[f"rnnsearch-{size}"], PRESETS[f"rnnencdec-{size}"]
        assert dataclasses.replace(search.model, architecture="rnnencdec") == baseline.model
        assert (search.training, search.decoding) == (baseline.training, baseline.decoding)


def test_the_long_run_is_the_papers_model_until_the_validation_set_stops_improving():
    long, short = PRESETS["rnnsearch-50*"], PRESETS["rnnsearch-50"]
    assert (long.model, long.decoding) == (short.model, short.decoding)
    assert long.training.early_stopping == "bleu"
    ends: dict = {"epochs": 5, "early_stopping": "none", "patience": 3}
    assert dataclasses.replace(long.training, **ends) == short.training


def test_settings_are_changed_by_name_in_whatever_part_they_are():
    config = Config().with_settings(
        epochs=7, dropout=0.2, beam_size=3, max_length=9, tokenizer="whitespace"
    )
    assert (config.training.epochs, config.training.max_length) == (7, 9)
    assert (config.model.dropout, config.decoding.beam_size) == (0.2, 3)
    assert (config.tokenizer, config.decoding.max_length) == ("whitespace", 500)
    narrow = config.with_settings(decoding=DecodingConfig(length_penalty=1.0), beam_size=2)
    assert narrow.decoding == DecodingConfig(beam_size=2, length_penalty=1.0)
    with pytest.raises(ValueError, match="epochs 0"):
        config.with_settings(epochs=0)
    with pytest.raises(TypeError, match=r"no setting epohcs \(did you mean epochs\?\)"):
        config.with_settings(epohcs=7)
    with pytest.raises(KeyError, match="no preset rnnsearch-mini: choose one of rnnsearch-30"):
        PRESETS["rnnsearch-mini"]
    with pytest.raises(ValueError, match="optimizer adam: needs its own learning_rate; 1 is that"):
        config.with_settings(optimizer="adam")
    for rate in (1e-3, 1.0):
        changed = config.with_settings(optimizer="adam", learning_rate=rate).training
        assert (changed.optimizer, changed.learning_rate) == ("adam", rate)
