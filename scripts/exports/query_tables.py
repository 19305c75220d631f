"""Runs the recipes of docs/tables.md: query_tables.py DIR [ENGINE...], with the tables that they read in DIR.

The tables are those of the traces that `write_shop` in xtask/src/verify/samples.rs describes. A recipe that fails or returns no rows
fails the program, and one for DuckDB also if it returns others than those that follow from the traces.
"""

import os
import re
import sys


TEST = "com.shop.ShopTest.pays"
SHOP = {name: f"com.shop.{name}()" for name in ("ShopTest.pays", "ShopTest.fails", "Orders.total", "Price.get", "Cache.miss")}
PAYS, FAILS, TOTAL, GET, MISS = SHOP.values()

# What the recipes for DuckDB return, by a part of their text. Rows in any order; a shape is any name.
ANSWERS = {
    "sum(end_ns - start_ns) / 1e6 as ms": [(GET, 3, 450.0), (TOTAL, 2, 1200.0), (PAYS, 1, 1050.0), (FAILS, 1, 750.0)],
    "t.end_ns - t.start_ns > 1e9": [(TEST, GET, 2), (TEST, TOTAL, 1), (TEST, PAYS, 1)],
    "thrown is not null": [("alpha", "java.lang.IllegalStateException", 2)],
    "sum(self) / 1e9 as seconds": [
        (TOTAL, "ns", 3, 1.35),
        (GET, "ns", 5, 0.75),
        (PAYS, "ns", 2, 0.6),
        (FAILS, "ns", 1, 0.3),
        (MISS, "ns", 1, 0.15),
    ],
    "create temp table new as": [(MISS, 1, "SHAPE")],
    "group by commit": [("alpha", 1, 2.0), ("beta", 1, 1.0)],
    "from alone": [(TEST, "beta", 3), (TEST, "alpha", 2)],
}


def expect(sql, rows):
    """Fails if the rows are not the answer that is known."""
    answers = [answer for part, answer in ANSWERS.items() if part in sql]
    if len(answers) != 1:
        sys.exit(f"{len(answers)} answers known: {sql}")
    is_shape = lambda cell: isinstance(cell, str) and re.fullmatch("[0-9a-f]{32}", cell)
    found = sorted(tuple("SHAPE" if is_shape(cell) else cell for cell in row) for row in rows)
    if found != sorted(answers[0]):
        sys.exit(f"{found} instead of {sorted(answers[0])}: {sql}")


def recipes(text):
    """Yields the heading above each block of code, and the block."""
    heading = ""
    for match in re.finditer(r"^###? ([^\n]*)$|^```(sql|python)\n(.*?)^```$", text, re.M | re.S):
        if match[1]:
            heading = match[1]
        else:
            yield heading, match[3]


def duckdb_rows(sql):
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.sql("select 0 where false").fetchall()
        for statement in filter(str.strip, sql.split(";")):
            rows = connection.execute(statement).fetchall()
        expect(sql, rows)
        return len(rows)


def clickhouse_rows(sql):
    import chdb

    return len(str(chdb.query(sql.strip().rstrip(";"), "CSV")).splitlines())


def python_rows(code, names):
    """What the code prints, without the frame of a table."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return sum(bool(re.search(r"\w", line)) for line in printed.getvalue().splitlines()) - 1


def spark():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session.getOrCreate().sparkContext.setLogLevel("ERROR")
    return session.getOrCreate()


ENGINES = {
    "DuckDB": duckdb_rows,
    "ClickHouse": clickhouse_rows,
    "pandas": lambda code: python_rows(code, {}),
    "Spark": lambda code: python_rows(code, {"spark": spark()}),
}


def main(directory, *engines):
    text = open(os.path.join(os.path.dirname(__file__), "../../docs/tables.md")).read()
    os.chdir(directory)
    counts = dict.fromkeys(engines or ENGINES, 0)
    for heading, code in recipes(text):
        engine = heading.split()[0]
        if engine not in counts and engine in ENGINES:
            continue
        rows = ENGINES[engine](code)
        first = code.strip().splitlines()[0]
        print(f"{engine}: {rows} rows: {first}")
        if rows < 1:
            sys.exit(f"no rows: {code}")
        counts[engine] += 1
    if 0 in counts.values() or counts.get("DuckDB", len(ANSWERS)) != len(ANSWERS):
        sys.exit(f"recipes: {counts}")


main(*sys.argv[1:])
