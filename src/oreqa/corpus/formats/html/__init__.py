"""Web pages, which e-mail and e-books hold, too."""
