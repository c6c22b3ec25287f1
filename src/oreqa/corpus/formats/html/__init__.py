"""Web pages, including those in e-mails and e-books."""
