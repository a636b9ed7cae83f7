from ._csv import read_csv
from ._table import ReadOptions
def read_table(path, **options):
    return read_csv(path, ReadOptions(**options))
