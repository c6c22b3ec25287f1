"""Manual pages, written for roff with the macros of man or mdoc."""
