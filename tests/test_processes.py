"""Loaded models and opened indexes belong to one process: in a forked one, and pickled, they say so."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forks
import pytest

from oreqa import Answerer, CrossEncoder, Encoder, Extractor, Index, MarkedAnswer, QuestionGenerator, Reader, index_files
from oreqa.errors import InputError

Folders = dict[str, Path]
Use = Callable[[Any], object]

USES: dict[str, tuple[Callable[[Folders], Any], Use]] = {
    "Answerer": (
        lambda folders: Answerer.load(folders["kb"], reader=folders["reader"]),
        lambda answerer: answerer.ask("the fox"),
    ),
    "Index": (lambda folders: Index.open(folders["kb"]), lambda index: index.search("the fox", 1)),
    "Encoder": (lambda folders: Encoder(folders["encoder"]), lambda encoder: encoder.encode("the fox").tolist()),
    "Reader": (lambda folders: Reader(folders["reader"]), lambda reader: reader.read("the fox", ["a fox"])),
    "CrossEncoder": (lambda folders: CrossEncoder(folders["classifier"]), lambda model: model.rank("a fox", ["a fox"])),
    "Extractor": (lambda folders: Extractor(folders["extractor"]), lambda extractor: extractor.extract("the fox")),
    "QuestionGenerator": (
        lambda folders: QuestionGenerator(folders["generator"]),
        lambda generator: [q.text for q in generator.generate([MarkedAnswer("", "the fox", 4, 7)], "textbook")[0]],
    ),
}


@pytest.fixture
def folders(
    library: Path,
    tmp_path: Path,
    tiny: Path,
    tiny_reader: Path,
    tiny_classifier: Path,
    tiny_extractor: Path,
    tiny_generator: Path,
) -> Folders:
    index_files(tmp_path / "kb", library, model=tiny)
    heads = {"reader": tiny_reader, "classifier": tiny_classifier, "extractor": tiny_extractor, "generator": tiny_generator}
    return {"kb": tmp_path / "kb", "encoder": tiny, **heads}


@pytest.mark.parametrize("name", USES)
def test_what_was_used_before_a_fork_raises_at_once_after_it(folders: Folders, name: str) -> None:
    load, use = USES[name]
    loaded = load(folders)
    use(loaded)

    def task() -> str:
        with pytest.raises(InputError) as caught:
            use(loaded)
        use(load(folders))  # loaded anew it works
        return str(caught.value)

    ended = forks.run(task, 30)
    assert (ended.code, ended.err) == (0, "")
    assert ended.value == (
        "this process was forked after a model was loaded or an index opened: "
        "open the index and load the models in the process that uses them"
    )
    use(loaded)


FORKS = """
import multiprocessing, os, signal, sys
import oreqa
kb, reader, generator, way = sys.argv[1:]
def load():
    return oreqa.Answerer.load(kb, reader=reader), oreqa.QuestionGenerator(generator)
def use(loaded):
    loaded[0].ask("the fox")
    loaded[1].generate([oreqa.MarkedAnswer("", "the fox", 4, 7)], "textbook")
loaded = load()
use(loaded)
def anew():
    global loaded
    loaded = load()
def ask(_):
    use(loaded)
    return "asked"
if way == "pool":
    with multiprocessing.get_context("fork").Pool(2, initializer=anew) as pool:
        print(pool.map_async(ask, range(4)).get(60))
    sys.exit()
process = os.fork()
if process:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
signal.alarm(40)
if way == "close":
    loaded[0].close()
if way in ("close", "delete"):
    del loaded
if way == "replace":
    anew()
    ask(0)
"""


@pytest.mark.system
@pytest.mark.parametrize("way", ["exit", "close", "delete", "replace", "pool"])
def test_a_forked_process_may_let_go_of_what_was_used_before(folders: Folders, way: str) -> None:
    """Freeing a model there would wait for threads that the fork has not copied."""
    command = [sys.executable, "-c", FORKS, *map(str, (folders["kb"], folders["reader"], folders["generator"])), way]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (
        ended.returncode,
        [line for line in ended.stderr.splitlines() if "Warning" not in line and "fork" not in line],
    ) == (0, [])
    assert ended.stdout == ("['asked', 'asked', 'asked', 'asked']\n" if way == "pool" else "")


@pytest.mark.parametrize("name", USES)
def test_pickling_says_what_to_do_instead(folders: Folders, name: str) -> None:
    loaded = USES[name][0](folders)
    line = f"^{name} cannot be pickled or copied: open the index and load the models in the process that uses them$"
    for keep in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InputError, match=line):
            keep(loaded)
    process = multiprocessing.get_context("spawn").Process(target=print, args=(loaded,))
    with pytest.raises(InputError, match=line):
        process.start()


def test_clusters_of_many_threads_do_not_hang_after_a_fork() -> None:
    import faiss
    import numpy as np

    from oreqa.index.clusters import k_means

    vectors = np.random.default_rng(0).random((3000, 32), np.float32)
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        clusters = k_means(vectors, 20, 256, 1)
        ended = forks.run(lambda: k_means(vectors, 20, 256, 1).tolist(), 30)
    finally:
        faiss.omp_set_num_threads(before)
    assert (ended.code, ended.value) == (0, clusters.tolist())
