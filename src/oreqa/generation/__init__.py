"""Questions from documents: which spans people will ask about, and what they will ask."""
