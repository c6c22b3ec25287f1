"""The base of all loaded models: opened by name or folder, run on a device, identified by a fingerprint."""

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

    ``folder`` has its settings. ``fingerprint`` is a hash of all files that determine its output: equal fingerprints
    give equal output in the same precision. It is empty for a model in training. ``inputs`` builds the inputs of
    ``session``.
    """

    family: ClassVar[str]
    """The folder of ``oreqa.models`` that runs it."""

    folder: Folder
    fingerprint: str

    def __init__(self, name: str | Path, *, device: str = "cpu", precision: str | None = None) -> None:
        """Load a model by name or folder; a Hugging Face Hub model, ``owner/name``, is downloaded if it is not present.

        ``device`` is ``cpu`` (OpenVINO) or ``cuda`` (torch; needs the train extra). ``precision`` is f32, bf16, i8 or
        auto, which is the first of bf16, i8 and f32 that the processor supports; the default is $OREQA_PRECISION, else
        auto. Encoders use f32 instead of i8. Raises ModelError for a folder that is missing, damaged or of another kind,
        InputError for a device or a precision that is not available.
        """
        self._load(self._read_folder(find_model(name)), device, precision)

    @classmethod
    def load(cls, *name: str | Path, **options: Any) -> Self:
        """Load a model, like calling the class with these arguments."""
        return cls(*name, **options)

    @classmethod
    def of(cls, folder: Folder, session: Any) -> Self:
        """Return a model run by a ``session``, for example during training."""
        model = cls.__new__(cls)
        model._begin(folder, session, "")
        return model

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self._shown().items())
        return f"{type(self).__name__}({shown_name(self.folder.path)!r}{settings})"

    @staticmethod
    def _read_folder(path: Path) -> Folder:
        """Read the family's folder. Raises ModelError if its settings are damaged or another family's."""
        raise NotImplementedError

    def _load(self, folder: Folder, device: str, precision: str | None) -> None:
        from oreqa.models.graph.cache import cached_fingerprint

        fingerprint = cached_fingerprint(folder.path)
        self._begin(folder, load_session(self.family, folder, fingerprint, device, precision), fingerprint)

    def _begin(self, folder: Folder, session: Any, fingerprint: str) -> None:
        """Store what was loaded; families add their inputs."""
        self.folder, self.session, self.fingerprint = folder, session, fingerprint

    def _shown(self) -> dict[str, Any]:
        """Return the settings shown by ``repr``."""
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
    """Return questions and a list of items for each: one question takes a list, a list of questions a list of lists.

    ``names`` and ``kinds`` describe the items and their types in error messages. Raises InputError for anything else,
    and for an empty or too long question.
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
    """Load a model of ``family`` as a ``Session``: with OpenVINO on ``cpu``, with torch on ``cuda``.

    Raises InputError for another device or a precision that it does not support, ModelError if weights are missing or do
    not fit.
    """
    if device not in DEVICES:
        raise InputError(f"there is no device {device!r}: choose cpu or cuda")
    if device == "cpu" and not folder.needs_torch:
        key = f"{family.replace('_', '-')}-{fingerprint[:32]}"
        return import_module(f"oreqa.models.{family}.graph").open_session(folder, key, precision)
    from oreqa.models.graph.torch import usable_device

    usable_device(device)
    return import_module(f"oreqa.models.{family}.module").open_session(folder, precision, device)
