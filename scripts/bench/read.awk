# Makes the table of scripts/bench-read.sh: awk -f median.awk -f read.awk RUNS, tab-separated.
#
# RUNS: trace, command, calls of the trace, wall ns, CPU ns, resident KiB.

BEGIN { FS = "\t" }

{
    row = $1 SUBSEP $2
    if (!(row in runs)) order[++rows] = row
    n = ++runs[row]
    rate[row, n] = $3 / $4 * 1e3
    wall[row, n] = $4 / 1e9
    cpu[row, n] = $5 / 1e9
    rss[row, n] = $6 / 1024
}

END {
    print "| trace | command | M calls/s | wall, s | CPU, s | RSS, MiB | runs |"
    print "|---|---|---|--:|--:|--:|--:|"
    for (r = 1; r <= rows; r++) {
        split(order[r], part, SUBSEP)
        printf "| %s | %s | %s | %.3f | %.3f | %.1f | %d |\n", part[1], part[2], of(rate), median_of(wall),
            median_of(cpu), largest_of(rss), runs[order[r]]
    }
    print ""
    print "M calls/s: smallest / **median** / largest, of the whole command. Wall and CPU: median; RSS: largest."
}

# The runs of row r.
function gather(values, list,    i) {
    for (i = 1; i <= runs[order[r]]; i++) list[i] = values[order[r], i]
    return runs[order[r]]
}

function of(values,    list, n) {
    n = gather(values, list)
    return spread(list, n)
}

function median_of(values,    list, n) {
    n = gather(values, list)
    return median(list, n)
}

function largest_of(values,    list, n, sorted) {
    n = gather(values, list)
    sort(list, n, sorted)
    return sorted[n]
}
