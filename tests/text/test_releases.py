"""Headings of change logs."""

from __future__ import annotations

import pytest
from growth import growth

from oreqa.text.releases import release_of, version_order


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
        ("1.0.2u [20 Dec 2019]", "1.0.2u", "20 Dec 2019"),
        ("9.9p2 (2025)", "9.9p2", "2025"),
        ("2.0.0 - released on Mon, 2 May 2020:", "2.0.0", "2 May 2020"),
        ("1.2 - May 2020", "1.2", "May 2020"),
    ],
)
def test_headings_of_releases(heading: str, version: str, day: str) -> None:
    release = release_of(heading)
    assert release is not None
    assert (heading[slice(*release.version)], heading[slice(*release.date)]) == (version, day)


@pytest.mark.parametrize(
    "heading",
    ["1.2 Installing", "3.10. Usage", "Table 2.1", "Section 1.2 (2020)", "2021", "Version 2.0 of the plan", "Muninn 4.1", "",
     "What is new in 3.2", "1." * 60 + "1", "3.2 Sales in 2020", "3.1 - Plan for 2020", "3.2 2020", "3.2 May 2020",
     "Sales 3.2 (2020)", "3.2 (table 2020)"],
)  # fmt: skip
def test_other_headings(heading: str) -> None:
    assert release_of(heading) is None


@pytest.mark.parametrize(
    "versions",
    [
        ["4.9.3", "4.10.0-dev", "4.10.0-alpha2", "4.10.0-alpha10", "4.10.0b1", "4.10.0-rc1", "4.10.0", "4.10.1"],
        [
            "1.0.1",
            "1.0.2-beta1",
            "1.0.2-beta3",
            "1.0.2",
            "1.0.2a",
            "1.0.2b",
            "1.0.2u",
            "1.0.2z",
            "1.0.2za",
            "1.1.0",
        ],  # OpenSSL
        ["9.8", "9.8p1", "9.9p1", "9.9p2", "10.0p1", "10.0p2"],  # OpenSSH
        ["1.0a1", "1.0b2", "1.0rc1.dev1", "1.0", "1.0.post1", "1.0.post2"],  # Python
        ["1.0-SNAPSHOT", "1.0-M1", "1.0.Final", "1.0.SP1"],
    ],
)
def test_versions_are_ordered(versions: list[str]) -> None:
    orders = [version_order(version) for version in versions]
    assert orders == sorted(set(orders))


def test_other_letters_change_no_order() -> None:
    assert len({version_order(version) for version in ("1.0", "1.0.Final", "1.0+dfsg-1", "1.0-LTS", "1.0.RELEASE")}) == 1


def test_drafts_are_distinguished_from_later_releases() -> None:
    headings = ["4.9.3", "4.10.0-rc1", "4.10.0", "1.0.2a", "1.0a1", "9.9p1", "1.0.post1", "5.0.Final"]
    releases = [release_of(heading) for heading in headings]
    assert [release.draft for release in releases if release] == [False, True, False, False, True, False, False, False]


def test_reading_a_heading_takes_linear_time() -> None:
    assert growth(release_of, lambda size: "1." * size, 20_000) < 8
