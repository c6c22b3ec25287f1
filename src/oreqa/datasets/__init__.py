"""QA data in and out: SQuAD, MRQA, DPR and BEIR files; sentence retrieval tasks (ReQA) built from them."""
