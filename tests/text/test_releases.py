"""Headings of change logs."""

from __future__ import annotations

import pytest
from growth import growth

from oreqa.text.releases import release_of


@pytest.mark.parametrize(
    ("heading", "version", "day"),
    [
        ("4.10.1", "4.10.1", ""),
        ("v0.22.1", "0.22.1", ""),
        ("[9.4.1] (2022-09-30)", "9.4.1", "2022-09-30"),
        ("[9.4.1](https://example.org/9) - 2022-09-30", "9.4.1", "2022-09-30"),
        ("4.18.2 / 2022-10-08", "4.18.2", "2022-10-08"),
        ("0.23.3 (4th Jan, 2023)", "0.23.3", "4th Jan, 2023"),
        ("version 3.30.0: 2022-07-28", "3.30.0", "2022-07-28"),
        ("Muninn 4.10.1 (2026-05-02)", "4.10.1", "2026-05-02"),
        ("1.0.0-rc1", "1.0.0-rc1", ""),
    ],
)
def test_headings_of_releases(heading: str, version: str, day: str) -> None:
    release = release_of(heading)
    assert release is not None
    assert (heading[slice(*release.version)], heading[slice(*release.date)]) == (version, day)


@pytest.mark.parametrize(
    "heading",
    ["1.2 Installing", "3.10. Usage", "Table 2.1", "Section 1.2 (2020)", "2021", "Version 2.0 of the plan", "Muninn 4.1", "",
     "What is new in 3.2", "1." * 60 + "1"],
)  # fmt: skip
def test_other_headings(heading: str) -> None:
    assert release_of(heading) is None


def test_versions_are_ordered_by_their_numbers_and_drafts_come_before() -> None:
    headings = ["4.9.3", "4.10.0-rc1", "4.10.0", "4.10.1"]
    releases = [release_of(heading) for heading in headings]
    assert [release.order for release in releases if release] == sorted(release.order for release in releases if release)
    assert [release.draft for release in releases if release] == [False, True, False, False]


def test_reading_a_heading_takes_linear_time() -> None:
    assert growth(release_of, lambda size: "1." * size, 20_000) < 8
