/*
 * Makes system calls on one directory fail. Preload it.
 *
 * FAULTS_DIR   calls are affected if their path begins with this, given as a path or by a descriptor
 * FAULTS_PLAN  what goes wrong:
 *   kill-before:N  the process is killed when it makes the Nth call that changes something, instead of it
 *   kill-after:N   right after it
 *   kill-half:N    half-way through the Nth write; other calls are not counted
 *   full:N         after N bytes, in blocks of 4096, the disk is full; a write for which there is some room writes a part
 *   error:N:E      the Nth write and all later ones fail with the error number E
 *   once:N:E       the Nth call that changes something fails with E, the others succeed
 *   short:N        each write writes at most N bytes
 *   interrupt:N    every Nth write or opening is interrupted by a signal
 *   files:N        the Nth opening and all later ones find no descriptor
 *   memory-once:N  the Nth allocation of the agent fails: of memory, of address space, or of a thread; FAULTS_DIR does
 *                  not matter
 *   memory-from:N  the Nth allocation of the agent and all later ones fail
 *   slow:N         each write to a file of a thread takes N milliseconds
 *   hang:N         the Nth write to a file of a thread and all later ones never return
 *   keep-synced    nothing; what has reached the disk is copied to FAULTS_KEPT: a file `names` with the number of times that the
 *                  directory was synchronised and a line with inode and name for each entry; a file for each inode
 *   count          nothing
 * FAULTS_LOG   file that gets a line: the call the process was killed at, or at its end the number of calls
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef __GLIBC__ /* musl */
typedef off_t off64_t;
#define __O_TMPFILE 020000000 /* O_TMPFILE without O_DIRECTORY. */
#endif

enum plan { NONE, BEFORE, AFTER, HALF, FULL, ERROR, ONCE, SHORT, INTERRUPT, FILES, MEMORY_ONCE, MEMORY_FROM, SLOW, HANG, KEEP };

static struct {
    const char *name;
    enum plan plan;
} const plans[] = {
    {"kill-before", BEFORE}, {"kill-after", AFTER}, {"kill-half", HALF},           {"full", FULL},   {"error", ERROR},
    {"once", ONCE},          {"short", SHORT},      {"interrupt", INTERRUPT}, {"files", FILES},
    {"memory-once", MEMORY_ONCE}, {"memory-from", MEMORY_FROM},
    {"slow", SLOW},         {"hang", HANG},         {"keep-synced", KEEP},
};

static char directory[PATH_MAX], log_file[PATH_MAX], kept_dir[PATH_MAX];
static enum plan plan;
static long limit, error_number;
static atomic_long calls, bytes;

__attribute__((constructor)) static void begin(void) {
    const char *dir = getenv("FAULTS_DIR"), *log = getenv("FAULTS_LOG"), *text = getenv("FAULTS_PLAN");
    if (!dir || !text)
        return;
    snprintf(directory, sizeof directory, "%s", dir);
    snprintf(log_file, sizeof log_file, "%s", log ? log : "");
    snprintf(kept_dir, sizeof kept_dir, "%s", getenv("FAULTS_KEPT") ? getenv("FAULTS_KEPT") : "");
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        size_t length = strlen(plans[i].name);
        if (!strcmp(text, plans[i].name))
            plan = plans[i].plan;
        if (!strncmp(text, plans[i].name, length) && text[length] == ':') {
            char *end;
            plan = plans[i].plan;
            limit = strtol(text + length + 1, &end, 10);
            error_number = *end == ':' ? atol(end + 1) : 0;
        }
    }
}

/* System calls by number: the functions are the ones below. */
static void tell(const char *what, const char *path) {
    char line[PATH_MAX + 100];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", (long)calls, what, path);
    long fd = syscall(SYS_openat, AT_FDCWD, log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        syscall(SYS_write, fd, line, (size_t)length);
        syscall(SYS_close, fd);
    }
}

__attribute__((destructor)) static void finish(void) {
    if (*log_file)
        tell("calls", directory);
}

static void killed(const char *what, const char *path) {
    tell(what, path);
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;)
        pause();
}

static int ours(const char *path) { return *directory && !strncmp(path, directory, strlen(directory)); }

static int path_of(int fd, char *path) {
    char link[40];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(link, path, PATH_MAX - 1);
    errno = before;
    path[length < 0 ? 0 : length] = 0;
    return ours(path);
}

static int path_at(int fd, const char *name, char *path) {
    if (*name == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        char base[PATH_MAX];
        int before = errno;
        if (fd == AT_FDCWD) {
            if (!getcwd(base, sizeof base))
                *base = 0;
        } else {
            path_of(fd, base);
        }
        errno = before;
        snprintf(path, PATH_MAX, "%.*s/%.2000s", (int)PATH_MAX - 2002, base, name);
    }
    return ours(path);
}

/* Before a call that changes something: 1 if it fails, with errno set; -1 if it is the last one. */
static int refused(const char *what, const char *path) {
    if (plan != NONE && plan != BEFORE && plan != AFTER && plan != ONCE)
        return 0;
    long number = ++calls;
    if (plan == BEFORE && number == limit)
        killed(what, path);
    if (plan == ONCE && number == limit) {
        errno = (int)error_number;
        return 1;
    }
    if (plan == AFTER && number == limit)
        return -1;
    return 0;
}

/* To be called after a call for which `refused` returned -1. */
static void done(int refusal, const char *what, const char *path) {
    if (refusal < 0)
        killed(what, path);
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define GUARDED(result, failure, is_ours, call) \
    do { \
        char path[PATH_MAX]; \
        if (!(is_ours)) \
            return call; \
        int refusal = refused(__func__, path); \
        if (refusal > 0) \
            return failure; \
        result outcome = call; \
        int before = errno; \
        done(refusal, __func__, path); \
        errno = before; \
        return outcome; \
    } while (0)

/* Whether an opening is to fail: it counts among openings only, or among all calls. */
static int no_descriptor(void) {
    if (plan == FILES && ++calls >= limit) {
        errno = EMFILE;
        return 1;
    }
    if (plan == INTERRUPT && ++calls % limit == 0) {
        errno = EINTR;
        return 1;
    }
    return 0;
}

#define OPENING(call) \
    do { \
        char where[PATH_MAX]; \
        if (path_at(fd, name, where)) { \
            if (no_descriptor()) \
                return -1; \
        } \
        GUARDED(int, -1, path_at(fd, name, path), call); \
    } while (0)

#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *name, int flags, ...) {
    REAL(open);
    MODE;
    int fd = AT_FDCWD;
    OPENING(real(name, flags, mode));
}

int open64(const char *name, int flags, ...) {
    REAL(open64);
    MODE;
    int fd = AT_FDCWD;
    OPENING(real(name, flags, mode));
}

int openat(int fd, const char *name, int flags, ...) {
    REAL(openat);
    MODE;
    OPENING(real(fd, name, flags, mode));
}

int openat64(int fd, const char *name, int flags, ...) {
    REAL(openat64);
    MODE;
    OPENING(real(fd, name, flags, mode));
}

enum { BLOCK = 4096 };

static off_t size_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_size;
}

/* How many of the bytes from `at` on have room on the disk; none is an error. */
static ssize_t room_for(int fd, off_t at, off_t length) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct stat found;
    if (fstat(fd, &found))
        return (ssize_t)length;
    pthread_mutex_lock(&one_at_a_time);
    off_t has = found.st_blocks * 512, more = at + length - has;
    long blocks = more > 0 ? (more + BLOCK - 1) / BLOCK : 0, left = (limit - bytes) / BLOCK;
    if (blocks > left) {
        length -= more - (more > 0 ? left * BLOCK : 0);
        blocks = left;
    }
    if (length > 0)
        bytes += blocks * BLOCK;
    pthread_mutex_unlock(&one_at_a_time);
    if (length > 0)
        return (ssize_t)length;
    errno = ENOSPC;
    return -1;
}

/* Whether a path is that of a thread's events or marks. */
static int is_of_thread(const char *path) {
    const char *name = strrchr(path, '/');
    return name && !strncmp(name, "/thread-", 8);
}

/* Delays a write. */
static void delay(const char *path) {
    if (plan == SLOW && is_of_thread(path))
        usleep((useconds_t)limit * 1000);
    while (plan == HANG && is_of_thread(path) && ++calls >= limit)
        pause();
}

/* Returns how many of `length` bytes to write; -1 with errno set for none. */
static ssize_t allowed(int fd, size_t length) {
    switch (plan) {
    case FULL:
        return room_for(fd, size_of(fd), (off_t)length);
    case ERROR:
        if (++calls < limit)
            return (ssize_t)length;
        errno = (int)error_number;
        return -1;
    case INTERRUPT:
        if (++calls % limit)
            return (ssize_t)length;
        errno = EINTR;
        return -1;
    case SHORT:
        return length > (size_t)limit ? limit : (ssize_t)length;
    default:
        return (ssize_t)length;
    }
}

#define WRITING(half, call) \
    do { \
        char where[PATH_MAX]; \
        if (path_of(fd, where)) { \
            if (plan == HALF && ++calls == limit) { \
                size_t count = length / 2; \
                half; \
                killed(__func__, where); \
            } \
            delay(where); \
            ssize_t count = allowed(fd, length); \
            if (count < 0) \
                return -1; \
            length = (size_t)count; \
        } \
        GUARDED(ssize_t, -1, path_of(fd, path), call); \
    } while (0)

ssize_t write(int fd, const void *from, size_t length) {
    REAL(write);
    WRITING(syscall(SYS_write, fd, from, count), real(fd, from, length));
}

ssize_t pwrite(int fd, const void *from, size_t length, off_t at) {
    REAL(pwrite);
    WRITING(syscall(SYS_pwrite64, fd, from, count, at), real(fd, from, length, at));
}

ssize_t pwrite64(int fd, const void *from, size_t length, off64_t at) {
    REAL(pwrite64);
    WRITING(syscall(SYS_pwrite64, fd, from, count, at), real(fd, from, length, at));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    char where[PATH_MAX];
    /* A short write is allowed: only the first part. */
    if (count > 0 && path_of(fd, where))
        return write(fd, parts[0].iov_base, parts[0].iov_len);
    return real(fd, parts, count);
}

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    GUARDED(int, -1, path_of(fd, path), real(fd, length));
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    GUARDED(int, -1, path_of(fd, path), real(fd, length));
}

/* Space is reserved completely or not at all. */
static int no_room(int fd, off_t at, off_t length) {
    char where[PATH_MAX];
    if (plan != FULL || !path_of(fd, where))
        return 0;
    long before = bytes;
    if (room_for(fd, at, length) == (ssize_t)length)
        return 0;
    bytes = before;
    errno = ENOSPC;
    return 1;
}

int fallocate(int fd, int mode, off_t at, off_t length) {
    REAL(fallocate);
    if (no_room(fd, at, length))
        return -1;
    GUARDED(int, -1, path_of(fd, path), real(fd, mode, at, length));
}

int fallocate64(int fd, int mode, off64_t at, off64_t length) {
    REAL(fallocate64);
    if (no_room(fd, at, length))
        return -1;
    GUARDED(int, -1, path_of(fd, path), real(fd, mode, at, length));
}

/* These return the error number. */
int posix_fallocate(int fd, off_t at, off_t length) {
    REAL(posix_fallocate);
    if (no_room(fd, at, length))
        return ENOSPC;
    GUARDED(int, errno, path_of(fd, path), real(fd, at, length));
}

int posix_fallocate64(int fd, off64_t at, off64_t length) {
    REAL(posix_fallocate64);
    if (no_room(fd, at, length))
        return ENOSPC;
    GUARDED(int, errno, path_of(fd, path), real(fd, at, length));
}

/* The addresses of the agent's code and data, once it is loaded. */
static atomic_uintptr_t agent_from, agent_to;

static int is_agent(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (!strstr(info->dlpi_name, "libflowagent"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
            if (end > agent_to)
                agent_to = end;
        }
    agent_from = info->dlpi_addr;
    return 1;
}

void *dlopen(const char *name, int flags) {
    REAL(dlopen);
    void *library = real(name, flags);
    if (library && !agent_from && name && strstr(name, "libflowagent"))
        dl_iterate_phdr(is_agent, NULL);
    return library;
}

/* Returns whether an allocation is the agent's, by its return address, and must fail. */
static int no_memory(void *caller) {
    if (plan != MEMORY_ONCE && plan != MEMORY_FROM)
        return 0;
    if ((uintptr_t)caller < agent_from || (uintptr_t)caller >= agent_to)
        return 0;
    long number = ++calls;
    if (plan == MEMORY_ONCE ? number != limit : number < limit)
        return 0;
    errno = ENOMEM;
    return 1;
}

#define CALLER __builtin_return_address(0)

#ifdef __GLIBC__
/* Not by dlsym, which allocates. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
#else
/* That of musl allocates nothing. */
#define FROM_LIBC(real_name, name, parameters, ...)                                                                    \
    static void *name parameters {                                                                                     \
        static void *(*real) parameters;                                                                               \
        if (!real)                                                                                                     \
            real = (void *(*) parameters)dlsym(RTLD_NEXT, real_name);                                                  \
        return real(__VA_ARGS__);                                                                                      \
    }
FROM_LIBC("malloc", __libc_malloc, (size_t bytes), bytes)
FROM_LIBC("calloc", __libc_calloc, (size_t count, size_t bytes), count, bytes)
FROM_LIBC("realloc", __libc_realloc, (void *block, size_t bytes), block, bytes)
FROM_LIBC("aligned_alloc", __libc_memalign, (size_t alignment, size_t bytes), alignment, bytes)
#endif

void *malloc(size_t bytes) { return no_memory(CALLER) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes) { return no_memory(CALLER) ? NULL : __libc_calloc(count, bytes); }

void *realloc(void *block, size_t bytes) { return no_memory(CALLER) ? NULL : __libc_realloc(block, bytes); }

void *aligned_alloc(size_t alignment, size_t bytes) {
    return no_memory(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    if (no_memory(CALLER))
        return ENOMEM;
    void *new = __libc_memalign(alignment, bytes);
    if (!new)
        return ENOMEM;
    *block = new;
    return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    REAL(pthread_create);
    return no_memory(CALLER) ? EAGAIN : real(thread, attributes, body, argument);
}

void *mmap(void *hint, size_t length, int protection, int flags, int fd, off_t at) {
    if (no_memory(CALLER))
        return MAP_FAILED;
    REAL(mmap);
    GUARDED(void *, MAP_FAILED, fd >= 0 && path_of(fd, path), real(hint, length, protection, flags, fd, at));
}

void *mmap64(void *hint, size_t length, int protection, int flags, int fd, off64_t at) {
    if (no_memory(CALLER))
        return MAP_FAILED;
    REAL(mmap64);
    GUARDED(void *, MAP_FAILED, fd >= 0 && path_of(fd, path), real(hint, length, protection, flags, fd, at));
}

int unlink(const char *name) {
    REAL(unlink);
    GUARDED(int, -1, path_at(AT_FDCWD, name, path), real(name));
}

int unlinkat(int fd, const char *name, int flags) {
    REAL(unlinkat);
    GUARDED(int, -1, path_at(fd, name, path), real(fd, name, flags));
}

int rmdir(const char *name) {
    REAL(rmdir);
    GUARDED(int, -1, path_at(AT_FDCWD, name, path), real(name));
}

int mkdir(const char *name, mode_t mode) {
    REAL(mkdir);
    GUARDED(int, -1, path_at(AT_FDCWD, name, path), real(name, mode));
}

int mkdirat(int fd, const char *name, mode_t mode) {
    REAL(mkdirat);
    GUARDED(int, -1, path_at(fd, name, path), real(fd, name, mode));
}

int rename(const char *from, const char *to) {
    REAL(rename);
    GUARDED(int, -1, path_at(AT_FDCWD, to, path), real(from, to));
}

int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    REAL(renameat);
    GUARDED(int, -1, path_at(to_fd, to, path), real(from_fd, from, to_fd, to));
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    REAL(renameat2);
    GUARDED(int, -1, path_at(to_fd, to, path), real(from_fd, from, to_fd, to, flags));
}

int fchmod(int fd, mode_t mode) {
    REAL(fchmod);
    GUARDED(int, -1, path_of(fd, path), real(fd, mode));
}

/* Copies a file or directory before it is synchronised: later changes need not reach the disk. */
static void keep(int fd) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static long times;
    char from[64], part[PATH_MAX + 32], to[PATH_MAX + 32], block[4096];
    struct stat found;
    if (plan != KEEP || fstat(fd, &found))
        return;
    pthread_mutex_lock(&one_at_a_time);
    snprintf(part, sizeof part, "%s/part", kept_dir);
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    int out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (S_ISDIR(found.st_mode)) {
        snprintf(to, sizeof to, "%s/names", kept_dir);
        dprintf(out, "%ld\n", ++times);
        DIR *entries = opendir(from);
        struct dirent *entry;
        while (entries && (entry = readdir(entries)))
            if (*entry->d_name != '.' && !fstatat(fd, entry->d_name, &found, AT_SYMLINK_NOFOLLOW))
                dprintf(out, "%ld %s\n", (long)found.st_ino, entry->d_name);
        if (entries)
            closedir(entries);
    } else {
        snprintf(to, sizeof to, "%s/%ld", kept_dir, (long)found.st_ino);
        int in = open(from, O_RDONLY | O_CLOEXEC);
        ssize_t length;
        while ((length = read(in, block, sizeof block)) > 0)
            if (write(out, block, (size_t)length) != length)
                abort();
        close(in);
    }
    close(out);
    rename(part, to);
    pthread_mutex_unlock(&one_at_a_time);
}

int fsync(int fd) {
    char where[PATH_MAX];
    if (path_of(fd, where))
        keep(fd);
    REAL(fsync);
    GUARDED(int, -1, path_of(fd, path), real(fd));
}

/* Copies all files of a directory. */
int syncfs(int fd) {
    char where[PATH_MAX];
    REAL(syncfs);
    if (plan == KEEP && path_of(fd, where)) {
        DIR *entries = opendir(where);
        struct dirent *entry;
        while (entries && (entry = readdir(entries))) {
            int file = *entry->d_name == '.' ? -1 : openat(fd, entry->d_name, O_RDONLY | O_CLOEXEC);
            if (file >= 0) {
                keep(file);
                close(file);
            }
        }
        if (entries)
            closedir(entries);
    }
    GUARDED(int, -1, path_of(fd, path), real(fd));
}

int fdatasync(int fd) {
    char where[PATH_MAX];
    if (path_of(fd, where))
        keep(fd);
    REAL(fdatasync);
    GUARDED(int, -1, path_of(fd, path), real(fd));
}
