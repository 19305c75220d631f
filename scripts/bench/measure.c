/*
 * Runs a command and writes what it took to a file: measure FILE COMMAND [ARGUMENT]...
 *
 * One line: wall nanoseconds, CPU nanoseconds (user and system, all threads, of the command and the
 * children it waited for), and its largest resident set in KiB. The exit status is the command's,
 * 128 + N after signal N.
 *
 * In C because the kernel counts the memory of whoever forks as the command's until it executes: a
 * shell would be in the figure of a small program, this one hardly is. And GNU time, which is not
 * on every machine, rounds to hundredths of a second.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long ns(struct timeval t) { return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL; }

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: measure FILE COMMAND [ARGUMENT]...\n");
        return 2;
    }
    long long start_ns = now_ns();
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    int status;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
        perror("measure");
        return 2;
    }
    long long wall_ns = now_ns() - start_ns;
    FILE *file = fopen(argv[1], "w");
    if (!file || fprintf(file, "%lld %lld %ld\n", wall_ns, ns(used.ru_utime) + ns(used.ru_stime),
                         used.ru_maxrss) < 0 || fclose(file) != 0) {
        perror(argv[1]);
        return 2;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
