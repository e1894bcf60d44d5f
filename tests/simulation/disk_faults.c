/* A disk that fails on demand, for a process that preloads this library.
 *
 * Calls that change files below a folder are counted. At a given call the process is killed, in the middle of
 * it; calls in a given range fail with a given error. If wished, every change is also written to a trace, from
 * which can be told what a disk would hold after the power has failed: see crash_disk.py.
 *
 * disk_faults_plan() is called by the process itself, after it was forked from one that preloads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct plan {
    char folder[512];
    int trace;        /* a descriptor, or -1 */
    int64_t kill_at;  /* the number of a call, or -1 */
    int64_t kill_bytes;
    int64_t fail_from, fail_until; /* numbers of calls of the kind that fails */
    int fail_syncs;                /* whether that is syncs or writes */
    int fail_error;
};

static struct plan plan;
static int active;
static int64_t calls, writes, syncs;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fdatasync)(int);
static int (*real_fsync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);
static int (*real_link)(const char *, const char *);

__attribute__((constructor)) static void find_real(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_link = dlsym(RTLD_NEXT, "link");
}

void disk_faults_plan(const char *folder, int trace, int64_t kill_at, int64_t kill_bytes, int64_t fail_from,
                      int64_t fail_until, int fail_syncs, int fail_error) {
    snprintf(plan.folder, sizeof plan.folder, "%s", folder);
    plan.trace = trace;
    plan.kill_at = kill_at;
    plan.kill_bytes = kill_bytes;
    plan.fail_from = fail_from;
    plan.fail_until = fail_until;
    plan.fail_syncs = fail_syncs;
    plan.fail_error = fail_error;
    calls = writes = syncs = 0;
    active = 1;
}

/* The name of a file inside the folder ("" for the folder itself), or null for any other file. */
static const char *inside(const char *path) {
    size_t length = strlen(plan.folder);
    if (strncmp(path, plan.folder, length) != 0) return NULL;
    if (path[length] == '\0') return "";
    if (path[length] != '/' || strstr(path, "-shm")) return NULL;
    return path + length + 1;
}

static const char *name_of(int descriptor, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return NULL;
    path[length] = '\0';
    return inside(path);
}

/* One record: kind, length of the name, offset, length of the data; the name; the data. */
static void trace(char kind, const char *name, int64_t offset, const void *data, size_t length) {
    if (plan.trace < 0) return;
    struct __attribute__((packed)) { char kind; uint16_t name; int64_t offset; uint64_t length; } head =
        {kind, (uint16_t)strlen(name), offset, length};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)name, strlen(name)}, {(void *)data, length}};
    if (writev(plan.trace, parts, 3) < 0) raise(SIGKILL);
}

static int is_last(void) { return ++calls == plan.kill_at; }

static int fails(int64_t number) { return number >= plan.fail_from && number < plan.fail_until; }

ssize_t pwrite64(int descriptor, const void *data, size_t length, off_t offset) {
    char path[1024];
    const char *name = active ? name_of(descriptor, path, sizeof path) : NULL;
    if (!name) return real_pwrite(descriptor, data, length, offset);
    pthread_mutex_lock(&one);
    ssize_t written = -1;
    int error = 0;
    if (is_last()) {
        length = (size_t)plan.kill_bytes % (length + 1);
        if (length > 0) {
            real_pwrite(descriptor, data, length, offset);
            trace('W', name, offset, data, length);
        }
        raise(SIGKILL);
    } else if (fails(++writes) && !plan.fail_syncs) {
        error = plan.fail_error;
    } else {
        written = real_pwrite(descriptor, data, length, offset);
        error = errno;
        if (written > 0) trace('W', name, offset, data, (size_t)written);
    }
    pthread_mutex_unlock(&one);
    errno = error;
    return written;
}

static int synchronise(int (*real)(int), int descriptor) {
    char path[1024];
    const char *name = active ? name_of(descriptor, path, sizeof path) : NULL;
    if (!name) return real(descriptor);
    pthread_mutex_lock(&one);
    if (is_last()) raise(SIGKILL);
    int failed = fails(++syncs) && plan.fail_syncs;
    int done = failed ? -1 : real(descriptor);
    int error = failed ? plan.fail_error : errno;
    trace(done ? 'F' : 'S', name, 0, NULL, 0);
    pthread_mutex_unlock(&one);
    errno = error;
    return done;
}

int fdatasync(int descriptor) { return synchronise(real_fdatasync, descriptor); }

int fsync(int descriptor) { return synchronise(real_fsync, descriptor); }

int ftruncate64(int descriptor, off_t length) {
    char path[1024];
    const char *name = active ? name_of(descriptor, path, sizeof path) : NULL;
    if (!name) return real_ftruncate(descriptor, length);
    pthread_mutex_lock(&one);
    if (is_last()) raise(SIGKILL);
    int done = real_ftruncate(descriptor, length);
    if (!done) trace('T', name, length, NULL, 0);
    pthread_mutex_unlock(&one);
    return done;
}

int unlink(const char *path) {
    const char *name = active ? inside(path) : NULL;
    if (!name) return real_unlink(path);
    pthread_mutex_lock(&one);
    if (is_last()) raise(SIGKILL);
    int done = real_unlink(path);
    if (!done) trace('U', name, 0, NULL, 0);
    pthread_mutex_unlock(&one);
    return done;
}

int link(const char *path, const char *other) {
    const char *name = active ? inside(path) : NULL;
    const char *second = active ? inside(other) : NULL;
    if (!name || !second) return real_link(path, other);
    pthread_mutex_lock(&one);
    if (is_last()) raise(SIGKILL);
    int done = real_link(path, other);
    if (!done) trace('L', name, 0, second, strlen(second));
    pthread_mutex_unlock(&one);
    return done;
}
