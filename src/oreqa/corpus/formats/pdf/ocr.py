"""Scanned pages and pictures: their lines, recognized by RapidOCR (PP-OCR's models), from the ``ocr`` extra."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.formats.pdf.lines import Line
from oreqa.errors import DocumentError

if TYPE_CHECKING:
    import numpy.typing as npt

    Picture = npt.NDArray[Any]

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp")
"""Supported pictures. They are read only if named explicitly: those in a folder are seldom texts."""

INSTALL = "scans need the ocr extra: pip install 'oreqa[ocr]'"

_DPI, _POINTS = 200, 72
_LETTERS = 0.8
"""The size of letters relative to the height of a line's box."""
_LIKE = 0.25
"""How far a line's height may differ from that of most lines, as a share, to count as the same size."""
_CERTAIN = 0.5
"""The lowest score at which a line is read."""

_UPRIGHT = 0.85
"""The median score of the longest lines if they are upright; 0.5 to 0.75 is usual for lines upside down."""
_JUDGED = 9
"""How many of the longest lines decide a page's orientation."""


def is_installed() -> bool:
    """Return whether scans can be read."""
    return find_spec("rapidocr") is not None


def recognize_lines(page: pdfium.PdfPage, number: int, before_page: Callable[[], None]) -> tuple[list[Line], float]:
    """Return the lines in the picture of page ``number``, from 0, from top to bottom, and its height in points.

    A page on its side or upside down is rotated first, and line positions refer to the rotated page. ``before_page`` is
    called first: a page takes seconds and gigabytes.
    """
    before_page()
    scale = _DPI / _POINTS
    picture, recognized = _upright(page.render(scale=scale).to_numpy()[:, :, :3])
    height = picture.shape[0] / scale
    lines: list[Line] = []
    for box, text, score in (
        zip(recognized.boxes, recognized.txts, recognized.scores, strict=True) if recognized.txts else ()
    ):
        if score < _CERTAIN or not text.strip():
            continue
        (left, right), (top, bottom) = ((min(side), max(side)) for side in (box[:, 0] / scale, box[:, 1] / scale))
        size = _LETTERS * float(bottom - top)
        ends = (float(left), height - float(bottom), float(right), height - float(top))
        lines.append(Line(number, len(lines), text.strip(), *ends, ends[1] + (1 - _LETTERS) * size, size))
    usual = median(line.size for line in lines) if lines else 0.0
    for line in lines:
        if abs(line.size - usual) <= _LIKE * usual:
            line.size = usual
    return lines, height


def _upright(picture: Picture) -> tuple[Picture, Any]:
    """Rotate a picture so that its text is upright; return it with its recognized text."""
    import numpy as np  # here, since a child that reads no scan does not need it

    recognized = _recognize(picture)
    if not recognized.txts:
        return picture, recognized
    sideways, certainty = _judged(recognized)
    upside_down = certainty < _UPRIGHT
    if not sideways and not upside_down:
        return picture, recognized
    # Lines that are higher than wide are read after a quarter turn to the left.
    turned = np.ascontiguousarray(np.rot90(picture, sideways + 2 * upside_down))
    again = _recognize(turned)
    if upside_down and not (again.txts and _judged(again)[1] > certainty):  # a poor scan
        if not sideways:
            return picture, recognized
        turned = np.ascontiguousarray(np.rot90(picture))
        again = _recognize(turned)
    return turned, again


def _recognize(picture: Picture) -> Any:
    # Without the engine's own classifier of upside-down lines, which is often wrong about long ones.
    return _engine()(picture, use_det=True, use_cls=False, use_rec=True, text_score=_CERTAIN / 10)


def _judged(recognized: Any) -> tuple[bool, float]:
    """Return whether most of the longest lines are higher than wide, and the median of their scores."""
    sizes = (map(float, box.max(axis=0) - box.min(axis=0)) for box in recognized.boxes)
    lines = [(*size, score) for size, score in zip(sizes, recognized.scores, strict=True)]
    longest = sorted(lines, key=lambda line: -max(line[:2]))[:_JUDGED]
    return 2 * sum(width < height for width, height, _ in longest) > len(longest), median(score for *_, score in longest)


@lru_cache(maxsize=1)
def _engine() -> Any:
    from rapidocr import EngineType, RapidOCR

    parts = ("Det", "Cls", "Rec")
    return RapidOCR(
        params={"Global.log_level": "critical", **{f"{part}.engine_type": EngineType.OPENVINO for part in parts}}
    )


def read_picture(
    data: bytes, path: Path, read_pdf: Callable[[bytes, Path], Document], before_page: Callable[[], None] = lambda: None
) -> Document:
    """Read a picture like ``read_pdf`` reads a PDF of it; each of its frames is a page.

    ``before_page`` is called before it is opened. Raises DocumentError if it is damaged, or too large.
    """
    from PIL import Image, ImageOps, ImageSequence

    if not is_installed():
        raise DocumentError(INSTALL)
    before_page()
    try:
        with Image.open(io.BytesIO(data)) as picture:
            frames = islice(ImageSequence.Iterator(picture), limits.PICTURE_FRAMES)
            pages = [ImageOps.exif_transpose(frame).convert("RGB") for frame in frames]
    except Image.DecompressionBombError as error:
        raise DocumentError("it has too many pixels: make it smaller") from error
    except (OSError, ValueError, SyntaxError) as error:
        raise DocumentError("it is not a readable picture; it is damaged, or of another type") from error
    packed = io.BytesIO()
    pages[0].save(packed, "PDF", save_all=True, append_images=pages[1:], resolution=_DPI, quality=95)
    return read_pdf(packed.getvalue(), path)
