# For the tables of the benchmarks: awk -f median.awk -f TABLE …

# Smallest, median and largest of a list of n numbers.
function spread(list, n,    sorted) {
    sort(list, n, sorted)
    return sprintf("%.2f / **%.2f** / %.2f", sorted[1], middle(sorted, n), sorted[n])
}

function median(list, n,    sorted) {
    sort(list, n, sorted)
    return middle(sorted, n)
}

function middle(sorted, n) {
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

# By insertion: there are few, and not every awk has a sort.
function sort(list, n, sorted,    i, j) {
    for (i = 1; i <= n; i++) {
        for (j = i; j > 1 && sorted[j - 1] > list[i] + 0; j--) sorted[j] = sorted[j - 1]
        sorted[j] = list[i] + 0
    }
}
