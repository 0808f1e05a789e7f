/* Record or disturb the system calls of this process that use files below one folder.

A seccomp filter sends the calls of the table below, whoever makes them, to a handler of SIGSYS: a
library that is preloaded would miss those that Rust makes without libc. The handler makes the call
itself, from one instruction that the filter lets pass. See shim.py, which builds and loads this. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "only for Linux on x86-64"
#endif

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define LONGEST_PATH 4096

/* Kinds of calls; shim.py has the same names in the same order. */
enum kind { OPEN, CREATE, READ, WRITE, RENAME, SYNC, REMOVE, MAKE, TRUNCATE, LINK, MAP, LOCK, CLOSE,
            STATUS, LIST, MODE };

/* Where a call has its path or descriptor. FD: argument 0. PATH: argument 0. AT: a folder's
descriptor and a path. Two paths: PATHS, ATS. TARGET: a text, then the path. */
enum shape { FD, PATH, AT, PATHS, ATS, TARGET, TARGET_AT, MAPPED, SECOND_FD };

static const struct call {
    int number;
    const char *name;
    enum kind kind;
    enum shape shape;
} CALLS[] = {
    {SYS_open, "open", OPEN, PATH},
    {SYS_openat, "openat", OPEN, AT},
    {SYS_openat2, "openat2", OPEN, AT},
    {SYS_creat, "creat", CREATE, PATH},
    {SYS_read, "read", READ, FD},
    {SYS_pread64, "pread64", READ, FD},
    {SYS_readv, "readv", READ, FD},
    {SYS_preadv, "preadv", READ, FD},
    {SYS_preadv2, "preadv2", READ, FD},
    {SYS_write, "write", WRITE, FD},
    {SYS_pwrite64, "pwrite64", WRITE, FD},
    {SYS_writev, "writev", WRITE, FD},
    {SYS_pwritev, "pwritev", WRITE, FD},
    {SYS_pwritev2, "pwritev2", WRITE, FD},
    {SYS_sendfile, "sendfile", WRITE, FD},
    {SYS_copy_file_range, "copy_file_range", WRITE, SECOND_FD},
    {SYS_splice, "splice", WRITE, SECOND_FD},
    {SYS_rename, "rename", RENAME, PATHS},
    {SYS_renameat, "renameat", RENAME, ATS},
    {SYS_renameat2, "renameat2", RENAME, ATS},
    {SYS_fsync, "fsync", SYNC, FD},
    {SYS_fdatasync, "fdatasync", SYNC, FD},
    {SYS_unlink, "unlink", REMOVE, PATH},
    {SYS_unlinkat, "unlinkat", REMOVE, AT},
    {SYS_rmdir, "rmdir", REMOVE, PATH},
    {SYS_mkdir, "mkdir", MAKE, PATH},
    {SYS_mkdirat, "mkdirat", MAKE, AT},
    {SYS_mknod, "mknod", MAKE, PATH},
    {SYS_mknodat, "mknodat", MAKE, AT},
    {SYS_truncate, "truncate", TRUNCATE, PATH},
    {SYS_ftruncate, "ftruncate", TRUNCATE, FD},
    {SYS_fallocate, "fallocate", TRUNCATE, FD},
    {SYS_link, "link", LINK, PATHS},
    {SYS_linkat, "linkat", LINK, ATS},
    {SYS_symlink, "symlink", LINK, TARGET},
    {SYS_symlinkat, "symlinkat", LINK, TARGET_AT},
    {SYS_mmap, "mmap", MAP, MAPPED},
    {SYS_flock, "flock", LOCK, FD},
    {SYS_close, "close", CLOSE, FD},
    {SYS_stat, "stat", STATUS, PATH},
    {SYS_lstat, "lstat", STATUS, PATH},
    {SYS_fstat, "fstat", STATUS, FD},
    {SYS_newfstatat, "newfstatat", STATUS, AT},
    {SYS_statx, "statx", STATUS, AT},
    {SYS_access, "access", STATUS, PATH},
    {SYS_faccessat, "faccessat", STATUS, AT},
    {SYS_faccessat2, "faccessat2", STATUS, AT},
    {SYS_readlink, "readlink", STATUS, PATH},
    {SYS_readlinkat, "readlinkat", STATUS, AT},
    {SYS_getdents64, "getdents64", LIST, FD},
    {SYS_chmod, "chmod", MODE, PATH},
    {SYS_fchmod, "fchmod", MODE, FD},
    {SYS_fchmodat, "fchmodat", MODE, AT},
    {SYS_utimensat, "utimensat", MODE, AT},
};

/* What happens at the chosen call; shim.py has the same order. */
enum action { NOTHING, FAIL, SHORTEN, KILL_BEFORE, KILL_AFTER, KILL_INSIDE, TERMINATE };

/* One line of the log; then the two paths and the data. */
struct record {
    uint32_t call, kind;
    int64_t result;
    uint64_t inode, offset, length, flags;
    uint32_t path_length, other_length, data_length, hit;
};

static struct {
    char folder[LONGEST_PATH];
    size_t folder_length;
    int log;
    unsigned kinds, at, action, sticky, with_data;
    int error;
    unsigned *count; /* shared with forks */
} plan = {.log = -1};

long fault_syscall(long number, long a, long b, long c, long d, long e, long f);
extern char fault_syscall_return[];
__asm__(".text\n"
        ".hidden fault_syscall\n.hidden fault_syscall_return\n"
        ".globl fault_syscall\n.globl fault_syscall_return\n"
        "fault_syscall:\n"
        " mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n"
        " mov %r8, %r10\n mov %r9, %r8\n mov 8(%rsp), %r9\n syscall\n"
        "fault_syscall_return:\n ret\n");

#define SYSTEM(number, a, b, c) \
    fault_syscall(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static long path_of_descriptor(int descriptor, char *path) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long length = SYSTEM(SYS_readlink, link, path, LONGEST_PATH - 1);
    path[length > 0 ? length : 0] = 0;
    return length;
}

/* Make a path absolute. An empty one, as fstat passes it, is that of the descriptor. */
static void absolute(int folder, const char *path, char *result) {
    size_t length = 0;
    if (path && path[0] == '/') {
        snprintf(result, LONGEST_PATH, "%s", path);
        return;
    }
    if (folder == AT_FDCWD)
        SYSTEM(SYS_getcwd, result, LONGEST_PATH, 0);
    else
        path_of_descriptor(folder, result);
    length = strlen(result);
    if (path && path[0])
        snprintf(result + length, LONGEST_PATH - length, "/%s", path);
}

static int inside(const char *path) {
    return !strncmp(path, plan.folder, plan.folder_length) &&
           (path[plan.folder_length] == '/' || !path[plan.folder_length]);
}

/* The descriptor that a call uses, or -1 if it uses paths. */
static int descriptor_of(const struct call *call, const long *arguments) {
    switch (call->shape) {
    case FD: return (int)arguments[0];
    case MAPPED: return (int)arguments[4];
    case SECOND_FD: return (int)arguments[2];
    default: return -1;
    }
}

static void paths_of(const struct call *call, const long *a, char *path, char *other) {
    path[0] = other[0] = 0;
    switch (call->shape) {
    case FD: case MAPPED: case SECOND_FD: path_of_descriptor(descriptor_of(call, a), path); break;
    case PATH: absolute(AT_FDCWD, (const char *)a[0], path); break;
    case AT: absolute((int)a[0], (const char *)a[1], path); break;
    case PATHS:
        absolute(AT_FDCWD, (const char *)a[0], path);
        absolute(AT_FDCWD, (const char *)a[1], other);
        break;
    case ATS:
        absolute((int)a[0], (const char *)a[1], path);
        absolute((int)a[2], (const char *)a[3], other);
        break;
    case TARGET: absolute(AT_FDCWD, (const char *)a[1], path); break;
    case TARGET_AT: absolute((int)a[1], (const char *)a[2], path); break;
    }
}

/* Flags of the opening, renaming, removal or mapping, as the call has them. */
static long flags_of(const struct call *call, const long *arguments) {
    switch (call->number) {
    case SYS_open: return arguments[1];
    case SYS_creat: return O_CREAT | O_WRONLY | O_TRUNC;
    case SYS_openat: case SYS_unlinkat: return arguments[2];
    case SYS_openat2: return *(const long *)arguments[2];
    case SYS_rmdir: return AT_REMOVEDIR;
    case SYS_renameat2: return arguments[4];
    case SYS_mmap: return (arguments[2] & PROT_WRITE) && (arguments[3] & MAP_SHARED);
    default: return 0;
    }
}

static long length_of(const struct call *call, const long *arguments) {
    switch (call->number) {
    case SYS_writev: case SYS_pwritev: case SYS_pwritev2: {
        long length = 0;
        for (long i = 0; i < arguments[2]; i++)
            length += (long)((const struct iovec *)arguments[1])[i].iov_len;
        return length;
    }
    case SYS_truncate: case SYS_ftruncate: return arguments[1];
    case SYS_fallocate: return arguments[2] + arguments[3];
    default: return call->kind == WRITE || call->kind == READ ? arguments[2] : 0;
    }
}

static long perform(const struct call *call, const long *a) {
    return fault_syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Read or write half of what was asked for. */
static long perform_half(const struct call *call, const long *arguments) {
    long changed[6], half = length_of(call, arguments) / 2;
    memcpy(changed, arguments, sizeof changed);
    if (half && (call->number == SYS_writev || call->number == SYS_readv)) {
        struct iovec first = *(const struct iovec *)arguments[1];
        half = first.iov_len > 1 ? (long)first.iov_len / 2 : (long)first.iov_len;
        return SYSTEM(call->number == SYS_writev ? SYS_write : SYS_read, arguments[0],
                      first.iov_base, half);
    }
    if (half && (call->kind == WRITE || call->kind == READ))
        changed[2] = half;
    return perform(call, changed);
}

static void kill_self(int signal_number) {
    SYSTEM(SYS_kill, SYSTEM(SYS_getpid, 0, 0, 0), signal_number, 0);
}

static void write_record(const struct call *call, const long *arguments, struct record *record,
                         const char *path, const char *other) {
    struct iovec parts[4 + 64] = {
        {record, sizeof *record}, {(void *)path, strlen(path)}, {(void *)other, strlen(other)}};
    int count = 3;
    record->path_length = (uint32_t)parts[1].iov_len;
    record->other_length = (uint32_t)parts[2].iov_len;
    if (plan.with_data && call->kind == WRITE && record->result > 0) {
        long left = record->result;
        record->data_length = (uint32_t)left;
        if (call->number == SYS_write || call->number == SYS_pwrite64)
            parts[count++] = (struct iovec){(void *)arguments[1], (size_t)left};
        else
            for (long i = 0; i < arguments[2] && left > 0 && count < (int)SIZE(parts); i++) {
                parts[count] = ((const struct iovec *)arguments[1])[i];
                if ((long)parts[count].iov_len > left)
                    parts[count].iov_len = (size_t)left;
                left -= (long)parts[count++].iov_len;
            }
    }
    SYSTEM(SYS_writev, plan.log, parts, count);
}

/* Offset at which a write will begin. */
static uint64_t offset_of(const struct call *call, const long *arguments) {
    struct stat status;
    if (call->kind != WRITE)
        return 0;
    if (call->number == SYS_pwrite64 || call->number == SYS_pwritev || call->number == SYS_pwritev2)
        return (uint64_t)arguments[3];
    if (SYSTEM(SYS_fcntl, arguments[0], F_GETFL, 0) & O_APPEND)
        return SYSTEM(SYS_fstat, arguments[0], &status, 0) ? 0 : (uint64_t)status.st_size;
    long offset = SYSTEM(SYS_lseek, arguments[0], 0, SEEK_CUR);
    return offset < 0 ? 0 : (uint64_t)offset;
}

/* Make a call inside the folder, disturbed if it is the chosen one, and record it. */
static long watched(const struct call *call, const long *arguments, const char *path,
                    const char *other) {
    struct stat status = {0};
    struct record record = {.call = (uint32_t)(call - CALLS), .kind = call->kind};
    int descriptor = descriptor_of(call, arguments);
    record.flags = (uint64_t)flags_of(call, arguments);
    if (call->kind == OPEN && (record.flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)))
        record.kind = CREATE;
    record.length = (uint64_t)length_of(call, arguments);
    record.offset = offset_of(call, arguments);
    if (record.kind == CREATE) /* nonzero: the file is new */
        record.offset = (record.flags & O_CREAT) && SYSTEM(SYS_lstat, path, &status, 0) != 0;
    if (descriptor >= 0 && !SYSTEM(SYS_fstat, descriptor, &status, 0))
        record.inode = status.st_ino;
    unsigned action = NOTHING;
    if (plan.kinds >> record.kind & 1) {
        unsigned number = __atomic_add_fetch(plan.count, 1, __ATOMIC_SEQ_CST);
        if (number == plan.at || (plan.sticky && plan.at && number > plan.at))
            action = plan.action;
    }
    record.hit = action;
    if (call->number == SYS_sendfile || call->number == SYS_copy_file_range ||
        call->number == SYS_splice)
        return -ENOSYS; /* as on old systems: the copy is then made by writes, with their data */
    if (action == KILL_BEFORE || action == KILL_INSIDE || action == TERMINATE)
        if (plan.log >= 0)
            write_record(call, arguments, &record, path, other);
    if (action == KILL_BEFORE)
        kill_self(SIGKILL);
    if (action == TERMINATE)
        kill_self(SIGTERM);
    if (action == KILL_INSIDE) {
        perform_half(call, arguments);
        kill_self(SIGKILL);
    }
    if (action == FAIL) {
        if (call->kind == CLOSE)
            perform(call, arguments);
        record.result = -plan.error;
    } else
        record.result = action == SHORTEN ? perform_half(call, arguments) : perform(call, arguments);
    if ((call->kind == OPEN || call->kind == CREATE) && record.result >= 0 &&
        !SYSTEM(SYS_fstat, record.result, &status, 0))
        record.inode = status.st_ino;
    if (plan.log >= 0 && action != TERMINATE)
        write_record(call, arguments, &record, path, other);
    if (action == KILL_AFTER)
        kill_self(SIGKILL);
    return record.result;
}

static void handle(int number, siginfo_t *information, void *context) {
    (void)number;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                         registers[REG_R10], registers[REG_R8], registers[REG_R9]};
    char path[LONGEST_PATH], other[LONGEST_PATH];
    for (size_t i = 0; i < SIZE(CALLS); i++) {
        const struct call *call = &CALLS[i];
        if (call->number != information->si_syscall)
            continue;
        paths_of(call, arguments, path, other);
        registers[REG_RAX] = inside(path) || inside(other)
                                 ? watched(call, arguments, path, other)
                                 : perform(call, arguments);
        return;
    }
}

/* Let the calls of the table raise SIGSYS, except those of fault_syscall and mmap without a file. */
static int install_filter(void) {
    enum { HEAD = 7, MAP_CHECK = 3 };
    struct sock_filter filter[HEAD + MAP_CHECK + SIZE(CALLS) + 2], *next = filter;
    uintptr_t own = (uintptr_t)fault_syscall_return;
    const size_t ip = offsetof(struct seccomp_data, instruction_pointer);
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip);
    *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)own, 0, 3);
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4);
    *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(own >> 32), 0, 1);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, nr));
    *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, MAP_CHECK);
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, args[4]));
    *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xFFFFFFFFu,
                                           SIZE(CALLS) + 1, 0);
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < SIZE(CALLS); i++) /* jumps to the last statement */
        *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)CALLS[i].number,
                                               (uint8_t)(SIZE(CALLS) - i), 0);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {(unsigned short)(next - filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Watch the calls of this process below `folder` from now on; 0 on success. A process is armed once. */
int fault_arm(const char *folder, const char *log, unsigned kinds, unsigned at, unsigned action,
              int error, unsigned sticky, unsigned with_data, unsigned *count) {
    struct sigaction handler = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    snprintf(plan.folder, sizeof plan.folder, "%s", folder);
    plan.folder_length = strlen(plan.folder);
    plan.log = log ? (int)SYSTEM(SYS_open, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                                 0600)
                   : -1;
    plan.kinds = kinds, plan.at = at, plan.action = action, plan.error = error;
    plan.sticky = sticky, plan.with_data = with_data, plan.count = count;
    handler.sa_sigaction = handle;
    if (sigaction(SIGSYS, &handler, NULL))
        return -1;
    return install_filter();
}

/* Add a line to the log that is no system call. */
void fault_mark(const char *text) {
    struct record record = {.call = SIZE(CALLS), .path_length = (uint32_t)strlen(text)};
    struct iovec parts[2] = {{&record, sizeof record}, {(void *)text, strlen(text)}};
    SYSTEM(SYS_writev, plan.log, parts, 2);
}

const char *fault_name(unsigned call) { return call < SIZE(CALLS) ? CALLS[call].name : "mark"; }
