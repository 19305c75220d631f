# Makes the tables of scripts/bench.sh: awk -f median.awk -f table.awk FIGURES RUNS, both tab-separated.
#
# FIGURES: workload, what its own figure means (empty: it has none).
# RUNS:    workload, JDK, variant, turn, wall ns, CPU ns, resident KiB, calls, bytes, own figure.
#
# A run is compared with the run of the program alone in the same turn, never with another turn's:
# machines drift. Of the ratios the smallest, the median and the largest are shown.

BEGIN { FS = "\t" }

FNR == NR { meaning[$1] = $2; next }

{
    workload = $1 SUBSEP $2
    row = workload SUBSEP $3
    turn = workload SUBSEP $4
    if ($3 == "none") alone[turn] = $0
    if (!(row in runs)) { order[++rows] = row; workload_of[row] = workload }
    runs[row]++
    run[row, runs[row]] = $0
    turn_of[row, runs[row]] = turn
}

END {
    print "| workload | JDK | variant | wall, s | wall ratio | CPU ratio | ns a call added | calls | bytes a call | RSS ratio | runs |"
    print "|---|---|---|--:|---|---|--:|--:|--:|--:|--:|"
    for (r = 1; r <= rows; r++) print_cost(order[r])
    print ""
    print "Ratios: smallest / **median** / largest, each against the program alone in the same turn."
    for (r = 1; r <= rows; r++) print_figure(order[r])
}

# Splits the runs of a row and the runs they are compared with into lists of numbers, by column.
function gather(row,    i, n, own, base) {
    n = 0
    for (i = 1; i <= runs[row]; i++) {
        if (!(turn_of[row, i] in alone)) continue
        n++
        split(run[row, i], own, FS)
        split(alone[turn_of[row, i]], base, FS)
        wall[n] = own[5] / 1e9
        wall_ratio[n] = own[5] / base[5]
        cpu_ratio[n] = own[6] / base[6]
        rss_ratio[n] = own[7] / base[7]
        calls[n] = own[8]
        added_ns[n] = own[8] ? (own[6] - base[6]) / own[8] : 0
        bytes[n] = own[8] ? own[9] / own[8] : 0
        figure[n] = own[10]
        figure_alone[n] = base[10]
        figure_added[n] = own[10] - base[10]
        figure_ratio[n] = base[10] ? own[10] / base[10] : 0
    }
    return n
}

function print_cost(row,    n, part, many) {
    n = gather(row)
    if (n == 0) return
    split(row, part, SUBSEP)
    printf "| %s | %s | %s | %.2f | ", part[1], part[2], part[3], median(wall, n)
    if (part[3] == "none") {
        printf "1 | 1 | - | - | - | 1 | %d |\n", n
        return
    }
    # Below this, what is added is the start of the recording, and a figure a call would mislead.
    many = median(calls, n) >= 1e6
    printf "%s | %s | ", spread(wall_ratio, n), spread(cpu_ratio, n)
    printf "%s | ", many ? sprintf("%.2f", median(added_ns, n)) : "-"
    printf "%s | ", many ? sprintf("%.1f M", median(calls, n) / 1e6) : part[3] == "again" ? "-" : median(calls, n)
    printf "%s | ", many ? sprintf("%.2f", median(bytes, n)) : "-"
    printf "%.2f | %d |\n", median(rss_ratio, n), n
}

function print_figure(row,    n, part) {
    split(row, part, SUBSEP)
    if (part[3] == "none" || meaning[part[1]] == "") return
    n = gather(row)
    if (n == 0) return
    if (!figures++) {
        print ""
        print "| workload | JDK | variant | what | alone | recorded | added | ratio |"
        print "|---|---|---|---|--:|--:|--:|--:|"
    }
    printf "| %s | %s | %s | %s | ", part[1], part[2], part[3], meaning[part[1]]
    printf "%.2f | %.2f | %.2f | %.2f |\n", median(figure_alone, n), median(figure, n),
        median(figure_added, n), median(figure_ratio, n)
}
