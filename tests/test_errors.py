from __future__ import annotations

from oreqa.errors import InputError


def test_a_message_is_one_line_of_bounded_length() -> None:
    assert str(InputError("a\nb\u2028c: write another")) == "a␊b␤c: write another"
    path = "/" + "x" * 4000
    assert str(InputError(f"{path}: there is no such file")) == f"{path}: there is no such file"
    long = str(InputError(f"the value {'x' * 10**6} is too long: shorten it"))
    assert len(long) == 5000
    assert long.startswith("the value xxx")
    assert long.endswith("xxx is too long: shorten it")
