"""Makes up tables of shapes of many machines on two days, and runs a recipe on them: fleet.py DIR [MACHINES]

Needs the package duckdb. DIR is new; the tables of 4,000 machines, the default, take 1.7 GB there. Each machine has 20 occurrences
a minute and 2,000 of 20,000 shapes, each with four callees. On the second day there are 40 new shapes, each on ten machines; 20 of them call
the other 20. The recipe of docs/tables.md finds all 40, and among them the 20 that call no new one. As with files that are merged, a directory has the tables of 100
machines.
"""

import os
import re
import sys
import time

import duckdb

DAYS = ("2026-11-28", "2026-11-29")
SHAPES, NEW, OF_MACHINE, CALLEES, MERGED = 20_000, 40, 2_000, 4, 100
MINUTES, A_MINUTE = 24 * 60, 20

ORIGIN = """
    'run-' || machine || '-' || $day as run, 'host-' || machine as host, 'shop' as service,
    'c' || $day as commit, 1795824000000000000 + $day * 86400000000000 as started_unix_ns"""
# What a machine does: known shapes, and on the second day new ones on some machines.
DID = f"""
    select machine, hash(machine, i) % {SHAPES} as number
    from range($first, $last) m(machine), range({OF_MACHINE}) r(i)
    union
    select (number * 97 + i * 13) % $machines as machine, {SHAPES} + number as number
    from range({NEW}) n(number), range(10) r(i)
    where $day = 1 and machine >= $first and machine < $last"""
NAMES = "'com.shop.C' || (number % 500) as class, 'm' || number as name, '()V' as descriptor"
TABLES = {
    "shapes": f"""
        select {ORIGIN}, md5(number::text) as shape, {NAMES}, class || '.' || name || '()' as readable,
               'returned' as outcome, 1 + number % 1000 as calls
        from ({DID}) order by shape""",
    # Half of the new shapes call the other half.
    "edges": f"""
        select {ORIGIN}, md5(number::text) as shape,
               md5(case when number >= {SHAPES} + {NEW // 2} and place = 0 then number - {NEW // 2}
                        else hash(number, place) % {SHAPES} end::text) as callee,
               place, 1 + hash(number, place) % 9 as count
        from ({DID}), range({CALLEES}) p(place) order by shape""",
    "occurrences": f"""
        select {ORIGIN}, md5((hash(machine, hash(minute, i) % {OF_MACHINE}) % {SHAPES})::text) as shape,
               1 + i % 8 as thread, 'worker-' || thread as thread_name,
               null::text as test, null::text as test_outcome, 1 + hash(i, minute) % 50 as count
        from range($first, $last) m(machine), range({MINUTES}) t(minute), range({A_MINUTE}) r(i)""",
}


def make(directory, machines):
    for day, date in enumerate(DAYS):
        for first in range(0, machines, MERGED):
            out = os.path.join(directory, f"fleet/day={date}/{first // MERGED}")
            os.makedirs(out)
            values = {"day": day, "machines": machines, "first": first, "last": min(first + MERGED, machines)}
            for table, sql in TABLES.items():
                for name, value in values.items():
                    sql = sql.replace(f"${name}", str(value))
                duckdb.sql(f"copy ({sql}) to '{out}/{table}.parquet' (format parquet, compression zstd)")


def megabytes(table):
    sizes = [
        os.path.getsize(os.path.join(directory, name))
        for directory, _, names in os.walk(f"fleet/day={DAYS[1]}")
        for name in names
        if name == f"{table}.parquet"
    ]
    return sum(sizes) // 1_000_000


def main(directory, machines="4000"):
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/tables.md")
    recipes = re.findall(r"^```sql\n(.*?)^```$", open(page).read(), re.M | re.S)
    [recipe] = [sql for sql in recipes if "create temp table new as" in sql]
    make(directory, int(machines))
    os.chdir(directory)
    sizes = ", ".join(f"{megabytes(table)} MB of {table}" for table in TABLES)
    [(occurrences,)] = duckdb.sql(f"select count(*) from 'fleet/day={DAYS[1]}/*/occurrences.parquet'").fetchall()
    print(f"the second day: {occurrences:,} occurrences, {sizes}")
    duckdb.sql("set threads = 1")
    begin = time.process_time()
    *first, last = filter(str.strip, recipe.split(";"))
    for statement in first:
        duckdb.execute(statement)
    [(new,)] = duckdb.sql("select count(*) from new").fetchall()
    found = time.process_time()
    innermost = len(duckdb.execute(last).fetchall())
    end = time.process_time()
    print(f"{new} new shapes in {found - begin:.1f} s of processor time, the {innermost} innermost in {end - begin:.1f} s")
    if (new, innermost) != (NEW, NEW // 2):
        sys.exit(f"{NEW} and {NEW // 2} were expected")


main(*sys.argv[1:])
