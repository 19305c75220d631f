/*
 * What programs do in native code: the methods of harness.NativeCalls. No header of the JDK is needed: its numbers are
 * those of C.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

int Java_harness_NativeCalls_poll(void *env, void *class, int ms)
{
    (void)env;
    (void)class;
    return poll(NULL, 0, ms);
}

static ucontext_t outer, inner;
static int64_t until_ns;

static int64_t used_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void spin(void)
{
    while (used_ns() < until_ns)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

/* What is next to the stack of a fiber belongs to something else. */
#define BESIDE (64 << 10)
#define KNOWN 0xA5

/*
 * Runs for some milliseconds on a stack of its own, with an alternate stack for signals, unless that has 0 bytes. Returns
 * how many bytes below the stack have changed.
 */
int Java_harness_NativeCalls_onStack(void *env, void *class, int ms, int bytes, int alternate)
{
    (void)env;
    (void)class;
    unsigned char *memory = mmap(NULL, BESIDE + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    memset(memory, KNOWN, BESIDE);
    stack_t ours = {.ss_sp = malloc(alternate + 1), .ss_size = alternate}, before;
    if (alternate)
        sigaltstack(&ours, &before);
    until_ns = used_ns() + ms * INT64_C(1000000);
    getcontext(&inner);
    inner.uc_stack.ss_sp = memory + BESIDE;
    inner.uc_stack.ss_size = bytes;
    inner.uc_link = &outer;
    makecontext(&inner, spin, 0);
    swapcontext(&outer, &inner);
    if (alternate)
        sigaltstack(&before, NULL);
    int changed = 0;
    for (int at = 0; at < BESIDE; at++)
        changed += memory[at] != KNOWN;
    free(ours.ss_sp);
    munmap(memory, BESIDE + bytes);
    return changed;
}
