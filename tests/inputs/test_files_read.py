"""Files for `alikely compare`: damaged, unusual, and equivalent formats."""

from __future__ import annotations

import study_data as w
from cases import Ran, check_each, cli, table

Q = "--n-resamples 50 --n-draws 50 --n-null 50 --quiet"
T, P = w.text(), w.table()
csv, ren, sub, lines, one = w.csv, w.ren, w.sub, w.lines, w.ONE
zipped, parquet = w.zipped, w.parquet
# An object with a duplicate field, of which the last one counts.
TWICE = """[{"observer": "a", "observer": "b", "item": 1, "correct": 1},
{"observer": "b", "item": 1, "correct": 1}]"""


def comp(text: str | bytes, more: str = "", fname: str = "t.csv") -> Ran:
    """`alikely compare` of one file."""
    return cli(f"compare {fname} {Q} {more}", {fname: text})()


CASES = table(
    r"""
't\.csv' is an empty file => comp('')
't\.csv' is empty: it has no rows; expected => comp(T.splitlines()[0] + '\n')
't\.csv' has only empty lines; expected column names in line 1 => comp('\n')
't\.csv' contains null bytes and is not text => comp(bytes(range(256)) * 20)
't\.csv' has one column, 'observer', if => comp(lines('observer', 'a', 'b'))
't\.csv', line 2 has 7 fields, but => comp(T.replace('\n', ',x\n', 2).replace(',x\n', '\n', 1))
no column 'response'; the => comp(lines('observer,item', 'a,1', 'b,1'))
column 'item' has no value in row 0 of 't.csv'; fill it in or => comp(sub('img00', '', 1))
WORKS => comp(lines('observer,item,correct', 'a,1,', 'a,2,', 'b,1,', 'b,2,'))
WORKS => comp(one.replace(',1\n', ',TRUE\n').replace(',0\n', ',FALSE\n'))
observers 'a' and 'b' both took part in data set 'all' but have no =>
    comp(lines('observer,item,correct', 'a,1,1', 'b,2,0', 'a,3,1', 'b,4,1'))
WORKS => comp(csv(response=None))
SAME => comp(T.replace('\n', '\r'))
SAME => comp(T and w.table().to_csv())
WORKS => comp(ren('observer', anna='a' * 5000))
WORKS => comp(ren('observer', anna='\x1b[31manna\x1b[0m'))
WORKS => comp(ren('observer', anna='$a_{1}$', net_a='$100'))
WORKS => comp(ren('observer', anna='ceiling'))
WORKS => comp(sub('dog', '(no response)'))
WORKS => comp(ren('kind', human='non-expert'), '--pairs non-expert-model')
SAME => comp(csv(repeat=2 ** 60 - 1 + np.zeros(len(P), int)))
WORKS => comp(csv(repeat=np.where(P.item == 'img00', 2 ** 62, 0)))
WORKS => comp(csv(repeat='٣'))
SAME => comp(csv(item=P.item.str[3:].astype(float)))
WORKS => comp(lines('observer,item,correct', 'a,1e3,1', 'a,2,0', 'b,1e3,1', 'b,2,1'))
't\.json' contains one object of => comp(P.to_json(), fname='t.json')
't\.json' cannot be read as a json => comp('[{"observer": 1,', fname='t.json')
WORKS => comp('[{"observer":"a","item":1,"correct":NaN},{"observer":"b","item":1,"correct":1}]',
    fname='t.json')
't\.feather' cannot => comp(b'ARROW1' + b'\x00' * 50, fname='t.feather')
't\.csv\.gz' cannot => comp(gzip.compress(T.encode())[:-20], fname='t.csv.gz')
't\.csv\.gz' is an empty file => comp(gzip.compress(b''), fname='t.csv.gz')
't\.zip' contains no file of a known format => comp(zipped(), fname='t.zip')
SAME => comp(zipped(a__csv=T, **{'__MACOSX/.___a.csv'.replace('__MACOSX', '_MACOSX'):
    b'\x00\x05\x16\x07'}), fname='t.zip')
't\.zip/a\.csv' cannot be read as a csv file: it is truncated, damaged => comp((lambda z: z[:60] +
    b'\xff' * 20 + z[80:])(zipped(a__csv=T)), fname='t.zip')
't\.pkl' is not in a known => comp(b'\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00', fname='t.pkl')
no file 'nowhere\.csv' => cli('compare nowhere.csv')()
'd' contains no file of a known format \(\.csv, \.tsv => cli('compare d', {'d/readme.md': 'x'})()
no file matches '\*\.csv' => cli("compare '*.csv'")()
file 't\.csv' is given twice; give each once => cli('compare t.csv t.csv', {'t.csv': T})()
'\._t\.csv' is a metadata file of macOS, not data; give 't\.csv' => cli(f'compare ._t.csv
    {Q}', {'._t.csv': b'\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X'})()
observer 'b' has two rows for item '1' => comp(TWICE, fname='t.json')
SAME => cli(f"compare d {Q}", {"d/t.csv": T, "d/._t.csv": b"\0\5\x16\7"})()
""",
    globals(),
)


test_inputs = check_each(CASES)
