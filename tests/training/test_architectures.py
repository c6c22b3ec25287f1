"""Every family trains on every architecture, and what it saves is loaded by transformers, sentence-transformers and OpenVINO
with the same output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_parts import reader_recipe, retriever_recipe

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from architectures import CONFIGS, SEGMENTED, make_prompted_encoder, make_transformer  # noqa: E402
from parameters import first_and_system  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

from oreqa.datasets.pairs import Candidate, Pair, pair_row  # noqa: E402
from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.files import write_jsonl  # noqa: E402
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.models.extractor.extractor import Extractor  # noqa: E402
from oreqa.models.generator.generator import QuestionGenerator  # noqa: E402
from oreqa.models.generator.inputs import MarkedAnswer  # noqa: E402
from oreqa.models.generator.module import open_session as open_generator  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.training.backbone import dropout_rates, embeddings_of, layers_of, start_headed  # noqa: E402
from oreqa.training.cross_encoder.recipe import ClassifierRecipe  # noqa: E402
from oreqa.training.cross_encoder.train import train_classifier  # noqa: E402
from oreqa.training.extractor.recipe import ExtractorRecipe  # noqa: E402
from oreqa.training.extractor.train import train_extractor  # noqa: E402
from oreqa.training.generator.recipe import GeneratorRecipe  # noqa: E402
from oreqa.training.generator.train import train_generator  # noqa: E402
from oreqa.training.openqa.recipe import OpenQARecipe  # noqa: E402
from oreqa.training.openqa.train import train_openqa  # noqa: E402
from oreqa.training.reader.train import train_reader  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

KINDS = [kind for kind in CONFIGS if kind not in ("bert", "camembert", "xlm-roberta")]
OPTIMISER = {"learning_rate": 3e-3, "batch": 6, "checkpoint_steps": 3}


@pytest.fixture(scope="module", params=first_and_system(KINDS))
def backbone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random encoder, as people find them: with prompts, and with transformers' files of the tokenizer."""
    return make_prompted_encoder(tmp_path_factory.mktemp("architectures") / request.param, request.param)


def test_a_reader(backbone: Path, squad_file: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForQuestionAnswering

    data = [{"file": str(squad_file), "epochs": 3}]
    record = train_reader(reader_recipe(squad_file, backbone, data=data, unanswerable=0.0), tmp_path)
    assert record["losses"][-1][1] < record["losses"][0][1]
    reader = Reader(tmp_path, precision="f32")
    spans = reader.read("who jumps over dog 3", ["fox 3 jumps over dog 3"])
    assert spans
    if backbone.name == "modernbert":  # whose head transformers builds otherwise
        return
    model, loading = AutoModelForQuestionAnswering.from_pretrained(tmp_path, output_loading_info=True)
    assert not loading["missing_keys"]
    assert set(loading["unexpected_keys"]) == {"qa_classifier.weight", "qa_classifier.bias"}
    question, passage = reader.inputs.tokenize(["who jumps", "fox 3 jumps over dog 3"]).values()
    (window,) = reader.inputs.windows(question, None, passage)
    types = [0] * window.segment + [1] * (len(window.ids) - window.segment)
    segments = {"token_type_ids": torch.tensor([types])} if backbone.name in SEGMENTED else {}
    with torch.inference_mode():
        expected = model.eval()(input_ids=torch.tensor([window.ids]), **segments).start_logits[0].numpy()
    ((_, (start, _, _)),) = reader._run([window])
    np.testing.assert_allclose(start, expected, atol=1e-4)


def test_what_learns_on_from_a_reader_reads_the_same_inputs(squad_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    make_transformer(folder, "mpnet", "QuestionAnswering")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "oreqa": {"kind": "reader", "separators": 1}}))
    train_reader(reader_recipe(squad_file, folder), tmp_path / "reader")
    settings = {"kind": "openqa", "retriever": str(make_prompted_encoder(tmp_path / "e", "mpnet")), "passages": 3,
                "reader": str(tmp_path / "reader"), "corpus": str(squad_file), "data": [str(squad_file)],
                "dev": str(squad_file), "max_tokens": 48, "overlap": 8, "optimiser": OPTIMISER}  # fmt: skip
    train_openqa(OpenQARecipe.model_validate(settings), tmp_path / "both")
    for reader in (Reader(tmp_path / "reader"), Reader(tmp_path / "both" / "reader")):
        question, passage = reader.inputs.tokenize(["who jumps", "fox 3"]).values()
        assert reader.inputs.windows(question, None, passage)[0].ids.count(2) == 2  # </s>, once between the two
    assert Encoder(tmp_path / "both" / "retriever").encode("who jumps").shape == (32,)


def test_a_retriever(backbone: Path, squad_file: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    record = train_retriever(retriever_recipe(squad_file, backbone, epochs=4, scale=20.0), tmp_path)
    assert record["losses"][-1][1] < record["losses"][0][1]
    frozen = "embeddings.tok_embeddings" if backbone.name == "modernbert" else "embeddings.word_embeddings"
    before, after = (load_file(folder / "model.safetensors")[f"{frozen}.weight"] for folder in (backbone, tmp_path))
    np.testing.assert_array_equal(before, after)
    encoder, theirs = Encoder(tmp_path, precision="f32"), SentenceTransformer(str(tmp_path), device="cpu")
    texts = ["who jumps over dog 3", "where sleeps fox 11, and which dog jumps over it"]
    np.testing.assert_allclose(encoder.encode(texts), theirs.encode_query(texts), atol=1e-4)
    passages = np.stack([rows[0] for rows in encoder.encode_passages([("", text, []) for text in texts])])
    np.testing.assert_allclose(passages, theirs.encode_document(texts), atol=1e-4)
    assert theirs.prompts == {"query": "q: ", "document": "d: "}


def test_a_classifier(backbone: Path, squad_file: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder as TheirCrossEncoder

    texts = [f"fox {number} jumps" for number in range(12)]
    candidates = [Candidate(text, text) for text in texts]
    pairs = [Pair(f"who is {n}", candidates[n], negatives=(candidates[n - 1],)) for n in range(12)]
    write_jsonl(tmp_path / "pairs.jsonl", map(pair_row, pairs))
    settings = {"kind": "classifier", "backbone": str(backbone), "data": [str(tmp_path / "pairs.jsonl")], "epochs": 10}
    recipe = ClassifierRecipe.model_validate({**settings, "max_tokens": 48, "dropout": 0.0, "optimiser": OPTIMISER})
    record = train_classifier(recipe, tmp_path / "m")
    assert record["losses"][-1][1] < record["losses"][0][1]
    ours = CrossEncoder(tmp_path / "m", precision="f32")
    theirs = TheirCrossEncoder(str(tmp_path / "m"), device="cpu", activation_fn=torch.nn.Identity())
    scores = ours.score("who is 3", texts)
    np.testing.assert_allclose(scores, theirs.predict([("who is 3", text) for text in texts]), atol=1e-4)


def test_an_extractor(backbone: Path, squad_file: Path, tmp_path: Path) -> None:
    settings = {"kind": "extractor", "backbone": str(backbone), "data": [{"file": str(squad_file), "epochs": 12}]}
    recipe = ExtractorRecipe.model_validate({**settings, "max_tokens": 48, "overlap": 8, "optimiser": OPTIMISER})
    record = train_extractor(recipe, tmp_path)
    assert record["losses"][-1][1] < record["losses"][0][1]
    assert Extractor(tmp_path, precision="f32").extract(["fox 3 jumps over dog 3"])[0]


@pytest.mark.parametrize("family", ["reader", "retriever"])
def test_factors(family: str, backbone: Path, squad_file: Path, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"lora": {"rank": 2}}
    if family == "reader":
        train_reader(reader_recipe(squad_file, backbone, **changes), tmp_path)
        assert Reader(tmp_path).read("who jumps over dog 3", ["fox 3 jumps over dog 3"])
    else:
        train_retriever(retriever_recipe(squad_file, backbone, **changes), tmp_path)
        base, trained = (Encoder(path, precision="f32").encode("who jumps") for path in (backbone, tmp_path))
        assert not np.allclose(base, trained, atol=1e-3)


def test_what_is_frozen(backbone: Path) -> None:
    from oreqa.models.reader.module import ReaderModel

    model = start_headed(ReaderModel, backbone, dropout=0.25, freeze_embeddings=True, frozen_layers=1)
    base = model.base_model
    assert len(layers_of(base)) == 3
    trained = {name for name, value in base.named_parameters() if value.requires_grad}
    layer = {"distilbert": "transformer.layer", "modernbert": "layers"}.get(backbone.name, "encoder.layer")
    others = {"final_norm.weight"} if backbone.name == "modernbert" else set()
    assert {name for name in trained if not name.startswith((f"{layer}.1.", f"{layer}.2."))} == others
    assert {"mpnet": 2, "electra": 2}.get(backbone.name, 1) == len(embeddings_of(base))
    rates = {module.p for module in base.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.25}


def test_rates_of_dropout_have_their_architectures_names() -> None:
    assert dropout_rates("mpnet", 0.1) == {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    assert dropout_rates("bert", None, 0.0) == {"attention_probs_dropout_prob": 0.0}
    assert dropout_rates("distilbert", None) == {}


@pytest.mark.parametrize("model_type", ["mpnet", "modernbert", "roberta"])
def test_input_types_need_token_types(model_type: str, squad_file: Path, tmp_path: Path) -> None:
    folder = make_prompted_encoder(tmp_path / "b", model_type)
    with pytest.raises(InputError, match=f"input_types needs a backbone with token types, .*; {model_type} has none"):
        train_retriever(retriever_recipe(squad_file, folder, input_types=True), tmp_path / "m")


def test_new_layers_over_the_embeddings_of_any_architecture(squad_file: Path, tmp_path: Path) -> None:
    folder = make_prompted_encoder(tmp_path / "b", "mpnet")
    train_retriever(retriever_recipe(squad_file, folder, encoder="transformer"), tmp_path / "m")
    assert json.loads((tmp_path / "m" / "config.json").read_text())["num_hidden_layers"] == 2
    assert Encoder(tmp_path / "m").encode("who jumps").shape == (32,)
    with pytest.raises(InputError, match="encoder = gru needs the token embeddings of a BERT; this is a mpnet"):
        train_retriever(retriever_recipe(squad_file, folder, encoder="gru"), tmp_path / "gru")


@pytest.mark.parametrize("table", ["alignment", "variational"])
def test_companions_learn_beside_any_architecture(table: str, squad_file: Path, tmp_path: Path) -> None:
    folder = make_prompted_encoder(tmp_path / "b", "mpnet")
    settings = {"alignment": {}, "variational": {"kind": "cross"}}[table]
    assert train_retriever(retriever_recipe(squad_file, folder, **{table: settings}), tmp_path / "m")["steps"]


def test_a_generator_on_mpnet(squad_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "b"
    make_transformer(folder, "mpnet", vocab_size=120)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary.update({f"[unused{n}]": len(vocabulary) + n for n in range(3)})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    data = [{"file": str(squad_file), "style": "story", "epochs": 4}]
    settings = {"kind": "generator", "backbone": str(folder), "data": data, "max_tokens": 40, "question_tokens": 20}
    recipe = GeneratorRecipe.model_validate({**settings, "optimiser": OPTIMISER})
    record = train_generator(recipe, tmp_path / "m")
    assert record["losses"][-1][1] < record["losses"][0][1]
    generator = QuestionGenerator(tmp_path / "m", precision="f32")
    answers = [MarkedAnswer("", text, 0, 5) for text in ("fox 3 jumps", "dog 4 sleeps in house 11 and eats bones", "fox 5")]
    prefixes = [prefix for prefix in generator.inputs.prefixes(answers, ["story"] * 3) if prefix]
    decoders = generator.session.decoder(), open_generator(generator.folder, None, "cpu").decoder()
    first, second = (decoder.start(prefixes) for decoder in decoders)
    np.testing.assert_allclose(first, second, atol=1e-4)
    for rows, tokens in (([2, 0, 1, 1], [7, 9, 20, 11]), ([3, 0], [8, 30]), ([1, 1, 0], [12, 5, 9])):
        first, second = (decoder.step(rows, tokens) for decoder in decoders)
        np.testing.assert_allclose(first, second, atol=1e-4)
    (question, *_), *_ = generator.generate(answers, "story")
    assert question.text
    assert not any(mark in question.text for mark in ("[unused", "<s>", "</s>", "<unk>"))


def test_a_generator_on_another_architecture_is_refused(squad_file: Path, tmp_path: Path) -> None:
    data = [{"file": str(squad_file), "style": "story"}]
    settings = {
        "kind": "generator",
        "backbone": str(make_prompted_encoder(tmp_path / "b", "electra")),
        "data": data,
        "max_tokens": 40,
    }
    recipe = GeneratorRecipe.model_validate({**settings, "question_tokens": 20, "optimiser": OPTIMISER})
    with pytest.raises(ModelError, match="a question generator is a BERT or an MPNet, not a electra: begin with another"):
        train_generator(recipe, tmp_path / "m")
