"""The base of all loaded models: opened by a name or folder, run on a device, told apart by a fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from numpy.typing import NDArray

from oreqa.arguments import is_list, kind_of, question_list
from oreqa.errors import InputError
from oreqa.models.graph.session import DEVICES, check_finite
from oreqa.models.graph.windows import Window, window_batches
from oreqa.models.names import ModelFolder, find_model, shown_name
from oreqa.processes import OfOneProcess

Folder = TypeVar("Folder", bound=ModelFolder)
Item = TypeVar("Item")


class LoadedModel(OfOneProcess, Generic[Folder]):
    """A model in memory. Threads may share it, processes may not.

    ``folder`` has its settings. ``fingerprint`` is a hash of all files that decide its output: models with the same
    fingerprint give the same output in the same precision. It is empty for a model in training. ``inputs`` builds what
    ``session`` runs on.
    """

    family: ClassVar[str]
    """The folder of ``oreqa.models`` that runs it."""

    folder: Folder
    fingerprint: str

    def __init__(self, name: str | Path, *, device: str = "cpu", precision: str | None = None) -> None:
        """Load a model by name or folder; one of the Hugging Face Hub, ``owner/name``, is downloaded if it is not here.

        ``device`` is ``cpu`` (OpenVINO) or ``cuda`` (torch; needs the train extra). ``precision`` is one of f32, bf16, i8
        and auto, the first of bf16, i8 and f32 that the processor offers; left out, it is $OREQA_PRECISION, else auto. An
        encoder computes in f32 where others take i8. Raises ModelError for a folder that is missing, damaged or of another
        kind, InputError for a device or a precision that is not offered.
        """
        self._load(self._read_folder(find_model(name)), device, precision)

    @classmethod
    def load(cls, *name: str | Path, **options: Any) -> Self:
        """The same as the class called with these arguments."""
        return cls(*name, **options)

    @classmethod
    def of(cls, folder: Folder, session: Any) -> Self:
        """A model that a ``session`` runs, for example in the middle of a training."""
        model = cls.__new__(cls)
        model._begin(folder, session, "")
        return model

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self._shown().items())
        return f"{type(self).__name__}({shown_name(self.folder.path)!r}{settings})"

    @staticmethod
    def _read_folder(path: Path) -> Folder:
        """The settings of the family's folder. Raises ModelError if they are damaged, or another family's."""
        raise NotImplementedError

    def _load(self, folder: Folder, device: str, precision: str | None) -> None:
        from oreqa.models.graph.cache import cached_fingerprint

        fingerprint = cached_fingerprint(folder.path)
        self._begin(folder, load_session(self.family, folder, fingerprint, device, precision), fingerprint)

    def _begin(self, folder: Folder, session: Any, fingerprint: str) -> None:
        """Take what was loaded; families add their inputs."""
        self.folder, self.session, self.fingerprint = folder, session, fingerprint

    def _shown(self) -> dict[str, Any]:
        """Settings that the representation shows."""
        return {}

    def _run(self, windows: Sequence[Window]) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """Yield the number of each window with its row of every output, valid until the next one is drawn.

        Raises ModelError for NaN and infinite outputs.
        """
        for batch, outputs in self.session.run(window_batches(windows)):
            for output in outputs:
                check_finite(output, self.folder.path)
            for row, number in enumerate(batch.numbers.tolist()):
                yield number, [output[row] for output in outputs]


def questions_with_lists(
    questions: str | Iterable[str], groups: object, names: str, kinds: str, convert: Callable[[object], Item]
) -> tuple[list[str], list[list[Item]]]:
    """Questions, and a list of items for each: one question takes a list, and a list of questions a list of lists.

    ``names`` and ``kinds`` name the items and what each may be, for error messages. Raises InputError for anything else, and
    for a question that is empty or too long.
    """
    texts = question_list(questions)
    if isinstance(questions, str):
        groups = [groups]
    if not is_list(groups):
        raise InputError(f"{names} are a list, or a list for each question, not {kind_of(groups)}")
    lists: list[list[Item]] = []
    for group in groups:
        if not is_list(group) and not isinstance(group, str):
            raise InputError(f"a question's {names} are a list of {kinds}, not {kind_of(group)}")
        lists.append([convert(item) for item in ([group] if isinstance(group, str) else group)])
    if len(lists) != len(texts):
        raise InputError(f"a list of questions takes a list of {names} for each: {len(texts)} questions, {len(lists)} lists")
    return texts, lists


def load_session(family: str, folder: ModelFolder, fingerprint: str, device: str, precision: str | None) -> Any:
    """Load a model of ``family``: with OpenVINO on ``cpu``, with torch on ``cuda``. Returns its ``Session``.

    Raises InputError for another device or a precision that the device does not have, ModelError if weights are missing or
    do not fit.
    """
    if device not in DEVICES:
        raise InputError(f"there is no device {device!r}: choose cpu or cuda")
    if device == "cpu" and not folder.needs_torch:
        key = f"{family.replace('_', '-')}-{fingerprint[:32]}"
        return import_module(f"oreqa.models.{family}.graph").open_session(folder, key, precision)
    from oreqa.models.graph.torch import usable_device

    usable_device(device)
    return import_module(f"oreqa.models.{family}.module").open_session(folder, precision, device)
