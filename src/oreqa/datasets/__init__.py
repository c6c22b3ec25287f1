"""Question-answer data: reads and writes SQuAD, MRQA, DPR, BEIR and pair files, and builds ReQA tasks from them."""
