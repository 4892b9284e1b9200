"""Outputs of `assignor report` and `assignor replay` that are stored, for recordings of every kind of group.

`test_golden.py` compares every output with its stored file, byte by byte. After a change that changes outputs on
purpose, write the files again:

    $ python -m tests.replay.golden

The commit that changes a stored file explains each difference: which output changed, for which input, and why the new
one is right. `zdiff` or `git show COMMIT:FILE | zcat` prints what changed.

`generated.py` has the generated recordings, `outputs.py` runs the commands. The output `table_records` has the bytes of
all records, so it shows whether a generated recording changed.
"""
