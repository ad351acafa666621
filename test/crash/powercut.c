/*
 * Loaded before libc into a process that is to lose its power. Every change of the files whose path begins with
 * COFFERER_TEST_DISK is noted in the file COFFERER_TEST_DISK_LOG, and every sync once it has returned: what a disk
 * holds after a power cut is computed from that by disk.ts. A note is one write, so a kill leaves it whole or without
 * its end. COFFERER_TEST_DISK_CUT=n kills the process in the middle of the nth of these operations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FDS_MAX = 4096, PATH_MAX_NOTED = 512 };
enum { NOTE_WRITE = 1, NOTE_TRUNCATE = 2, NOTE_SYNC = 3, NOTE_UNLINK = 4, NOTE_UNKNOWN = 5 };

/* Little-endian on the machines that we run on: kind, length of the name, length of the data, offset. */
struct note {
  uint32_t kind;
  uint32_t name_length;
  uint64_t data_length;
  uint64_t offset;
};

static char names[FDS_MAX][PATH_MAX_NOTED];
static int log_fd = -2;
static long operations = 0;

static const char *prefix(void) { return getenv("COFFERER_TEST_DISK"); }

static int is_ours(const char *path) {
  const char *ours = prefix();
  return ours != NULL && path != NULL && strncmp(path, ours, strlen(ours)) == 0 && strlen(path) < PATH_MAX_NOTED;
}

static int is_open(int fd) { return fd >= 0 && fd < FDS_MAX && names[fd][0] != 0; }

static void note(uint32_t kind, const char *name, uint64_t offset, const void *data, size_t length) {
  if (log_fd == -2) {
    const char *path = getenv("COFFERER_TEST_DISK_LOG");
    log_fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }
  const char *cut = getenv("COFFERER_TEST_DISK_CUT");
  int dies = cut != NULL && ++operations >= atol(cut);
  /* A sync that has not returned promises nothing. */
  if (dies && kind == NOTE_SYNC) kill(getpid(), SIGKILL);
  struct note head = {kind, (uint32_t)strlen(name), length, offset};
  struct iovec parts[3] = {
      {&head, sizeof head}, {(void *)name, head.name_length}, {(void *)data, length}};
  ssize_t size = (ssize_t)(sizeof head + head.name_length + length);
  if (log_fd < 0 || syscall(SYS_writev, log_fd, parts, data == NULL ? 2 : 3) != size) abort();
  if (dies) kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= FDS_MAX) return fd;
  names[fd][0] = 0;
  if (!is_ours(path)) return fd;
  strcpy(names[fd], path);
  if (flags & O_TRUNC) note(NOTE_TRUNCATE, path, 0, NULL, 0);
  return fd;
}

#define MODE_OF(flags)                                   \
  mode_t mode = 0;                                       \
  if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list more;                                        \
    va_start(more, flags);                               \
    mode = va_arg(more, mode_t);                         \
    va_end(more);                                        \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode), path, flags);
}

int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode), path, flags);
}

int openat(int dir, const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened((int)syscall(SYS_openat, dir, path, flags, mode), path, flags);
}

int close(int fd) {
  if (fd >= 0 && fd < FDS_MAX) names[fd][0] = 0;
  return (int)syscall(SYS_close, fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  if (is_open(fd)) note(NOTE_WRITE, names[fd], (uint64_t)offset, data, length);
  return REAL(pwrite64)(fd, data, length, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
  if (is_open(fd)) note(NOTE_WRITE, names[fd], (uint64_t)lseek(fd, 0, SEEK_CUR), data, length);
  return REAL(write)(fd, data, length);
}

/* Not used on these files: were it ever, the log says so, and nobody believes the rest. */
static void unknown(int fd) {
  if (is_open(fd)) note(NOTE_UNKNOWN, names[fd], 0, NULL, 0);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  unknown(fd);
  return REAL(writev)(fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  unknown(fd);
  return REAL(pwritev)(fd, parts, count, offset);
}

int ftruncate64(int fd, off64_t length) {
  if (is_open(fd)) note(NOTE_TRUNCATE, names[fd], (uint64_t)length, NULL, 0);
  return REAL(ftruncate64)(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fsync(int fd) {
  int done = REAL(fsync)(fd);
  if (done == 0 && is_open(fd)) note(NOTE_SYNC, names[fd], 0, NULL, 0);
  return done;
}

int fdatasync(int fd) {
  int done = REAL(fdatasync)(fd);
  if (done == 0 && is_open(fd)) note(NOTE_SYNC, names[fd], 0, NULL, 0);
  return done;
}

int unlink(const char *path) {
  if (is_ours(path)) note(NOTE_UNLINK, path, 0, NULL, 0);
  return REAL(unlink)(path);
}

int rename(const char *from, const char *to) {
  if (is_ours(from) || is_ours(to)) note(NOTE_UNKNOWN, is_ours(from) ? from : to, 0, NULL, 0);
  return REAL(rename)(from, to);
}
