/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - the ring file: created without its final name, filled, locked, and only then published.
 *
 * Touches the file system, the address space and one file descriptor. process.c judges which processes are in a ring.
 *
 * Guarantees
 *   1. The file appears complete: every byte that a reader may read is stored, and this process's locks are held,
 *      before the file gets its name. The magic is the last store.
 *   2. A failure leaves nothing behind: no file, descriptor or mapping. rip_ring stays NULL and errno has the reason.
 *   3. No page is touched before the kernel has confirmed that it is backed: a full tmpfs is an error, never a signal.
 *   4. The mapping is made inaccessible and unlocked, and then made accessible only as far as needed. So neither an
 *      earlier mlockall(MCL_FUTURE) nor a later MCL_CURRENT makes it resident. It is excluded from core dumps.
 *   5. The process keeps one descriptor of the file, numbered high and close-on-exec, and never opens the file twice
 *      once it holds its POSIX lock: closing any descriptor of a file drops POSIX locks.
 *   6. Only an empty file or a ring whose processes are all gone is renamed, replaced or removed.
 *   7. Only a regular file is ever opened for reading or writing: a FIFO, a device or a link is left alone.
 *   8. If several processes find the same dead ring, one of them renames it: it locks the TAKEOVER byte of the old
 *      file, and checks the name again under the lock.
 *   9. The old file is never mapped. It is copied by pread into private memory and judged there by the validating
 *      reader, so that truncating it cannot kill this process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sdt.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "writer.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    FILE_MODE = 0640,
    DESCRIPTOR_FLOOR = 512, /* lowest number of the kept descriptor, if the limit allows */
    DESCRIPTOR_LOW = 64,
    PID_MAX_FALLBACK = 32768,
    PUBLISH_ATTEMPTS = 50,
    PUBLISH_PAUSE_NS = 2000000,
    KEPT_MAX = 8,          /* dead rings STEM.PID that are kept */
    UNFINISHED_MAX_S = 60, /* maximum time in seconds that making a ring takes */
};

/* A ring that is being made. Its resources go to rip__writer, or are released by creation_undo(). */
struct creation {
    int directory;
    const char *name; /* last component of the path */
    int descriptor;
    char temporary_name[sizeof(RIP_UNFINISHED_PREFIX) + 16]; /* empty = the file has no name at all */
    uint8_t ring_id[16];
};

static char given_path[PATH_MAX]; /* as passed to rip_create_ring() */

struct rip_writer rip__writer = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .descriptor = -1,
    .life_descriptor = -1,
    .process = RIP_NO_PROCESS,
};

/* Small facts ------------------------------------------------------------------------------------------------------ */

uint64_t rip__clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void rip__format_number(uint32_t value, char ret_digits[RIP_DIGITS_BYTES])
{
    char digits[RIP_DIGITS_BYTES];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < count; i++)
        ret_digits[i] = digits[count - 1 - i];
    ret_digits[count] = '\0';
}

void rip__describe_descriptor(int descriptor, char ret_path[RIP_LINK_BYTES])
{
    const char *prefix = RIP_PROC_OWN("fd/");
    size_t bytes = strlen(prefix);

    memcpy(ret_path, prefix, bytes);
    rip__format_number((uint32_t)descriptor, ret_path + bytes);
}

ssize_t rip__read_text(const char *path, char *ret_text, size_t capacity)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes;

    if (descriptor < 0)
        return -errno;
    bytes = read(descriptor, ret_text, capacity - 1);
    if (bytes < 0)
        bytes = -errno;
    close(descriptor);
    if (bytes >= 0)
        ret_text[bytes] = '\0';
    return bytes;
}

static uint32_t kernel_pid_max(void)
{
    char text[32];
    unsigned long value;

    if (rip__read_text("/proc/sys/kernel/pid_max", text, sizeof(text)) <= 0)
        return PID_MAX_FALLBACK;
    value = strtoul(text, NULL, 10);
    return value >= 1 && value <= RIP_CAPACITY_MAX ? (uint32_t)value : PID_MAX_FALLBACK;
}

static uint8_t value_of_digit(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* Two lower-case hexadecimal digits per byte, with dashes between some of them. */
static void read_boot_id(uint8_t ret_boot_id[16])
{
    char text[64];
    const char *next = text;

    memset(ret_boot_id, 0, 16);
    if (rip__read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 36)
        return;
    for (unsigned i = 0; i < 16; i++) {
        if (*next == '-')
            next++;
        ret_boot_id[i] = (uint8_t)(value_of_digit(next[0]) << 4 | value_of_digit(next[1]));
        next += 2;
    }
}

/* The first half is stored last: a reader that sees it has both. */
void rip__file_note_boot_id(void)
{
    uint64_t *words = (uint64_t *)(void *)rip__header()->boot_id, boot_id[2];

    if (rip_load_relaxed(&words[0]) != 0)
        return;
    read_boot_id((uint8_t *)boot_id);
    rip_store_relaxed(&words[1], boot_id[1]);
    rip_store_release(&words[0], boot_id[0]); /* pairs with the acquire of the boot id in reader.c */
}

static void make_ring_id(uint8_t ret_ring_id[16])
{
    if (getrandom(ret_ring_id, 16, GRND_NONBLOCK) != 16) { /* early in boot: it only has to be unique */
        uint64_t parts[2] = {rip__clock_ns(CLOCK_REALTIME), ((uint64_t)getpid() << 32) ^ rip__clock_ns(CLOCK_BOOTTIME)};

        memcpy(ret_ring_id, parts, sizeof(parts));
    }
}

/* Memory ----------------------------------------------------------------------------------------------------------- */

/*
 * Maps and unlocks one page, then grows the mapping: the rest inherits the flags of that page. So neither MCL_FUTURE
 * nor a small RLIMIT_MEMLOCK prevents a large sparse ring.
 */
static int map_and_grow(int descriptor, uint64_t bytes, int flags, void **ret_base)
{
    size_t page_bytes = rip__page_bytes();
    void *first, *all;

    first = mmap(NULL, page_bytes, PROT_NONE, flags, descriptor, 0);
    if (first == MAP_FAILED)
        return -errno;
    munlock(first, page_bytes);
    all = bytes > page_bytes ? mremap(first, page_bytes, bytes, MREMAP_MAYMOVE) : first;
    if (all == MAP_FAILED) {
        int result = -errno;

        munmap(first, page_bytes);
        return result;
    }
    *ret_base = all;
    return 0;
}

/*
 * Without access rights no page is allocated, even if memory is locked. If MCL_FUTURE and a small RLIMIT_MEMLOCK refuse
 * to map all of it, map_and_grow() does.
 */
int rip__map_bare(int descriptor, uint64_t bytes, void **ret_base)
{
    int flags = (descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE;
    void *all = mmap(NULL, bytes, PROT_NONE, flags, descriptor, 0);

    if (all == MAP_FAILED)
        return map_and_grow(descriptor, bytes, flags, ret_base);
    munlock(all, bytes);
    *ret_base = all;
    return 0;
}

bool rip__file_is_ring(int descriptor)
{
    struct stat status;

    return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == rip__writer.device &&
           status.st_ino == rip__writer.inode;
}

void rip__file_drop_descriptor(void)
{
    if (!rip__is_filtered() && rip__file_is_ring(rip__writer.descriptor))
        close(rip__writer.descriptor);
    rip__writer.descriptor = -1;
}

static int populate_pages(uint64_t first, uint64_t last)
{
    int error;

    if (rip__is_filtered())
        return -ENOMEM;
    if (madvise(rip__writer.base + first, last - first, MADV_POPULATE_WRITE) == 0)
        return 0;
    error = errno;
    if (error == EFAULT)
        return -ENOSPC;
    if (error != EINVAL)
        return -error;
    if (!rip__file_is_ring(rip__writer.descriptor)) /* Linux before 5.14; the number may belong to another file now */
        return -EBADF;
    return fallocate(rip__writer.descriptor, 0, (off_t)first, (off_t)(last - first)) == 0 ? 0 : -errno;
}

/* Skips what is known to be backed: the beginning, and the last range that was requested. */
int rip__populate(uint64_t offset, uint64_t bytes)
{
    struct rip_writer *writer = &rip__writer;
    uint64_t page_bytes = rip__page_bytes();
    uint64_t first = offset & ~(page_bytes - 1);
    uint64_t last = (offset + bytes + page_bytes - 1) & ~(page_bytes - 1);
    int result;

    if (last <= writer->backed_end || (first >= writer->recent_start && last <= writer->recent_end))
        return 0;
    result = populate_pages(first, last);
    if (result < 0)
        return result;
    if (first <= writer->backed_end) {
        writer->backed_end = last;
    } else {
        writer->recent_start = first;
        writer->recent_end = last;
    }
    return 0;
}

/* Geometry --------------------------------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Returns the offset of a section at *end, and moves *end behind the section. */
static uint64_t place_section(uint64_t *end, uint64_t bytes)
{
    const uint64_t offset = *end;

    *end = round_up(offset + bytes, RIP_PAGE_BYTES);
    return offset;
}

static void geometry_init(struct rip_geometry *ret_geometry, uint32_t max_procs, bool with_texts)
{
    uint32_t slots = max_procs != 0 ? max_procs : kernel_pid_max();
    uint32_t processes = slots / 4;
    uint64_t end = RIP_PAGE_BYTES;

    slots = (uint32_t)round_up(slots, 64);
    if (processes < RIP_PROCESS_MIN)
        processes = RIP_PROCESS_MIN;
    if (processes > RIP_PROCESS_MAX)
        processes = RIP_PROCESS_MAX;
    *ret_geometry =
        (struct rip_geometry){.slot_capacity = slots, .process_capacity = processes, .module_capacity = RIP_MODULE_MAX};
    ret_geometry->summary_offset = place_section(&end, round_up(slots / 64, 64) / 8);
    ret_geometry->live_offset = place_section(&end, slots / 8);
    ret_geometry->process_offset = place_section(&end, (uint64_t)processes * RIP_PROCESS_BYTES);
    ret_geometry->module_offset = place_section(&end, (uint64_t)RIP_MODULE_MAX * RIP_MODULE_BYTES);
    ret_geometry->slot_offset = place_section(&end, (uint64_t)slots * RIP_SLOT_BYTES);
    if (with_texts) {
        ret_geometry->note_offset = place_section(&end, (uint64_t)slots * RIP_SLOT_NOTE_BYTES);
        ret_geometry->script_offset = place_section(&end, (uint64_t)RIP_SCRIPT_MAX * RIP_SCRIPT_BYTES);
    }
    ret_geometry->file_bytes = end;
}

/* A file that grows beyond RLIMIT_FSIZE raises SIGXFSZ instead of an error: check first. */
static int check_file_limit(uint64_t file_bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < file_bytes)
        return -EFBIG;
    return 0;
}

/* Making ----------------------------------------------------------------------------------------------------------- */

/* Opens the directory of file. *ret_path is the absolute path of file, or empty if that is not known. */
static int open_directory(struct creation *creation, const char *file, char ret_path[PATH_MAX])
{
    const char *slash = strrchr(file, '/');
    char directory[PATH_MAX], link[RIP_LINK_BYTES];
    size_t bytes = slash != NULL ? (size_t)(slash - file) + 1 : 0;
    ssize_t found;

    ret_path[0] = '\0';
    creation->name = slash != NULL ? slash + 1 : file;
    if (bytes >= sizeof(directory))
        return -ENAMETOOLONG;
    if (*creation->name == '\0' || strcmp(creation->name, ".") == 0 || strcmp(creation->name, "..") == 0)
        return -EISDIR;
    memcpy(directory, file, bytes);
    directory[bytes] = '\0';
    creation->directory = open(bytes != 0 ? directory : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (creation->directory < 0)
        return -errno;
    if (rip__writer.preloaded && file[0] == '/' && strlen(file) < PATH_MAX) { /* never compared: ring_again() */
        memcpy(ret_path, file, strlen(file) + 1);
        return 0;
    }
    rip__describe_descriptor(creation->directory, link);
    found = readlink(link, directory, sizeof(directory) - 1);
    if (found > 0 && (size_t)found + strlen(creation->name) + 2 <= PATH_MAX)
        snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)found, directory, creation->name);
    else if (file[0] == '/' && strlen(file) < PATH_MAX)
        memcpy(ret_path, file, strlen(file) + 1);
    return 0;
}

static int check_file_system(int directory)
{
    struct statfs status;

    if (fstatfs(directory, &status) < 0)
        return -errno;
    return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC ? 0 : -EOPNOTSUPP;
}

static void make_hidden_name(struct creation *creation)
{
    static const char digits[] = "0123456789abcdef";
    char *end = stpcpy(creation->temporary_name, RIP_UNFINISHED_PREFIX);

    make_ring_id(creation->ring_id);
    for (unsigned i = 0; i < 8; i++) {
        *end++ = digits[creation->ring_id[i] >> 4];
        *end++ = digits[creation->ring_id[i] & 15];
    }
    *end = '\0';
}

/* Creates the file with a temporary hidden name, by which it can be opened a second time. */
static int make_named_file(struct creation *creation)
{
    for (unsigned attempt = 0; attempt < 16; attempt++) {
        make_hidden_name(creation);
        creation->descriptor = openat(creation->directory, creation->temporary_name,
                                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
        if (creation->descriptor >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    creation->temporary_name[0] = '\0';
    return -errno;
}

/*
 * Creates the file without a name, so that nothing remains if the process is killed. The preload library does not:
 * naming the file and opening it again needs /proc, whose inodes would slow down the start of a small program. For what
 * may remain then see rip__file_bound_dead().
 */
static int make_unnamed_file(struct creation *creation)
{
    if (rip__writer.preloaded || access(RIP_PROC_OWN("fd/"), F_OK) != 0)
        return -EOPNOTSUPP;
    make_ring_id(creation->ring_id);
    creation->descriptor = openat(creation->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);
    return creation->descriptor >= 0 ? 0 : errno == EISDIR || errno == ENOENT ? -EOPNOTSUPP : -errno;
}

/* Sets the mode regardless of the umask. */
static int make_file(struct creation *creation, uint64_t file_bytes)
{
    struct rip_writer *writer = &rip__writer;
    struct stat status;
    int result = make_unnamed_file(creation);

    if (result == -EOPNOTSUPP)
        result = make_named_file(creation);
    if (result < 0)
        return result;
    if (fstat(creation->descriptor, &status) < 0 ||
        ((status.st_mode & ALLPERMS) != FILE_MODE && fchmod(creation->descriptor, FILE_MODE) < 0) ||
        ftruncate(creation->descriptor, (off_t)file_bytes) < 0)
        return -errno;
    writer->device = status.st_dev;
    writer->inode = status.st_ino;
    writer->owner = status.st_uid;
    if (creation->temporary_name[0] != '\0')
        writer->life_descriptor =
            openat(creation->directory, creation->temporary_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return 0;
}

int rip__raise_descriptor(int descriptor)
{
    const int wanted = rip__writer.descriptor_wanted;
    const int floors[] = {wanted != 0 ? wanted : DESCRIPTOR_FLOOR, DESCRIPTOR_FLOOR, DESCRIPTOR_LOW};

    for (unsigned i = 0; i < sizeof(floors) / sizeof(floors[0]); i++) {
        int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, floors[i]);

        if (moved >= 0) {
            close(descriptor);
            return moved;
        }
    }
    return descriptor;
}

static int map_file(const struct creation *creation)
{
    struct rip_writer *writer = &rip__writer;
    void *base;
    int result;

    result = rip__map_bare(creation->descriptor, writer->geometry.file_bytes, &base);
    if (result < 0)
        return result;
    writer->base = base;
    writer->descriptor = creation->descriptor;
    madvise(base, writer->geometry.file_bytes, MADV_DONTDUMP);
    writer->open_bytes = 0;
    writer->open_note_bytes = writer->geometry.note_offset;
    writer->open_script_bytes = writer->geometry.script_offset;
    return rip__slots_open(0);
}

/*
 * Backs what every reader may read: the header, the summary, the first page of live words, the first process record. An
 * unneeded page costs more than a system call, so later pages are populated on first use.
 */
static int populate_sections(const struct rip_geometry *geometry)
{
    int result = rip__populate(0, geometry->live_offset + sizeof(uint64_t));

    return result < 0 ? result : rip__populate(geometry->process_offset, RIP_PROCESS_BYTES);
}

static void fill_header(const struct creation *creation)
{
    const struct rip_geometry *geometry = &rip__writer.geometry;
    struct rip_ring *ring = rip__header();

    ring->format_version = RIP_FORMAT_VERSION;
    ring->header_bytes = RIP_PAGE_BYTES;
    ring->byte_order = RIP_BYTE_ORDER;
    ring->compatible_flags = RIP_RING_COUNTS_ENDED;
    if (geometry->script_offset != 0) {
        ring->compatible_flags |= RIP_RING_HAS_SCRIPTS;
        ring->script_offset = geometry->script_offset;
        ring->script_stride_bytes = RIP_SCRIPT_BYTES;
        ring->script_capacity = RIP_SCRIPT_MAX;
    }
    ring->file_bytes = geometry->file_bytes;
    memcpy(ring->ring_id, creation->ring_id, sizeof(ring->ring_id));
    memcpy(rip__writer.ring_id, creation->ring_id, sizeof(ring->ring_id));
    ring->created_wall_ns = rip__clock_ns(CLOCK_REALTIME);
    ring->created_boot_ns = rip__clock_ns(CLOCK_BOOTTIME);
    ring->slot_capacity = geometry->slot_capacity;
    ring->slot_stride_bytes = RIP_SLOT_BYTES;
    ring->slot_offset = geometry->slot_offset;
    ring->note_offset = geometry->note_offset;
    ring->note_stride_bytes = geometry->note_offset != 0 ? RIP_SLOT_NOTE_BYTES : 0;
    ring->entry_count = RIP_ENTRY_COUNT;
    ring->entry_offset_bytes = (uint32_t)offsetof(struct rip_slot, entry);
    ring->summary_offset = geometry->summary_offset;
    ring->live_offset = geometry->live_offset;
    ring->process_capacity = geometry->process_capacity;
    ring->process_stride_bytes = RIP_PROCESS_BYTES;
    ring->process_offset = geometry->process_offset;
    ring->module_capacity = geometry->module_capacity;
    ring->module_stride_bytes = RIP_MODULE_BYTES;
    ring->module_offset = geometry->module_offset;
    ring->lock_holder_offset = RIP_LOCK_HOLDER_OFFSET;
    ring->lock_life_offset = RIP_LOCK_LIFE_OFFSET;
    ring->lock_takeover_offset = RIP_LOCK_TAKEOVER_OFFSET;
}

/* The file at the name, and at NAME.prev: an empty file, a dead ring, or not to be touched ------------------------- */

enum verdict { VERDICT_FOREIGN, VERDICT_EMPTY, VERDICT_DEAD, VERDICT_LIVE };

/* Judging ---------------------------------------------------------------------------------------------------------- */

/* Copies [offset, offset + bytes) of the file to the same offset of the private copy. */
static bool copy_range(int descriptor, unsigned char *base, uint64_t size_bytes, uint64_t offset, uint64_t bytes)
{
    uint64_t page_bytes = rip__page_bytes();
    uint64_t first = offset & ~(page_bytes - 1);
    uint64_t last = (offset + bytes + page_bytes - 1) & ~(page_bytes - 1);

    if (offset > size_bytes || bytes > size_bytes - offset ||
        mprotect(base + first, last - first, PROT_READ | PROT_WRITE) < 0)
        return false;
    while (bytes > 0) {
        ssize_t done = pread(descriptor, base + offset, bytes, (off_t)offset);

        if (done <= 0)
            return false;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return true;
}

static bool any_process_alive(int descriptor, const struct rip_view *view)
{
    struct rip_evidence evidence = {.descriptor = descriptor,
                                    .holder_offset = view->lock_holder_offset,
                                    .life_offset = view->lock_life_offset,
                                    .pid_namespace = rip__pid_namespace(),
                                    .now_boot_ns = rip__clock_ns(CLOCK_BOOTTIME)};
    struct rip_ring_info ring;

    if (rip__locked(descriptor, view->lock_holder_offset, view->process_capacity) ||
        rip__locked(descriptor, view->lock_life_offset, view->process_capacity))
        return true;
    rip_view_info(view, &ring);
    for (uint32_t i = 0; i < ring.process_high_water; i++) {
        struct rip_process_info info;

        if (rip_view_process(view, i, &info) == RIP_OK && rip__process_alive(&evidence, i, &info))
            return true;
    }
    return false;
}

/*
 * Copies the records below the high-water mark, and of each only what the reader reads. A header may place a thousand
 * records gigabytes apart. This costs its writer nothing, because the file is sparse, but a complete copy would use all
 * memory of this process.
 */
static bool copy_records(int descriptor, unsigned char *base, uint64_t size_bytes, const struct rip_view *view)
{
    struct rip_ring_info ring;

    rip_view_info(view, &ring);
    for (uint32_t i = 0; i < ring.process_high_water; i++) {
        uint64_t offset = view->process_offset + (uint64_t)i * view->process_stride_bytes;

        if (!copy_range(descriptor, base, size_bytes, offset, sizeof(struct rip_process)))
            return false;
    }
    return true;
}

static enum verdict judge_copy(int descriptor, unsigned char *base, uint64_t size_bytes)
{
    static const uint8_t unknown[16];
    struct rip_view view;
    struct rip_ring_info ring;
    uint8_t boot_id[16];

    if (!copy_range(descriptor, base, size_bytes, 0, sizeof(struct rip_ring)) ||
        rip_view_open(&view, base, size_bytes) != RIP_OK || !copy_records(descriptor, base, size_bytes, &view))
        return VERDICT_FOREIGN;
    rip_view_info(&view, &ring);
    read_boot_id(boot_id);
    if (memcmp(boot_id, unknown, sizeof(boot_id)) != 0 && memcmp(ring.boot_id, unknown, sizeof(boot_id)) != 0 &&
        memcmp(boot_id, ring.boot_id, sizeof(boot_id)) != 0)
        return VERDICT_DEAD;
    return any_process_alive(descriptor, &view) ? VERDICT_LIVE : VERDICT_DEAD;
}

static enum verdict judge(int descriptor)
{
    enum verdict verdict;
    struct stat status;
    void *base;
    uint64_t size_bytes;

    if (fstat(descriptor, &status) < 0)
        return VERDICT_FOREIGN;
    if (status.st_size == 0)
        return VERDICT_EMPTY;
    size_bytes = (uint64_t)status.st_size;
    if (size_bytes < sizeof(struct rip_ring) || rip__map_bare(-1, size_bytes, &base) < 0)
        return VERDICT_FOREIGN;
    verdict = judge_copy(descriptor, base, size_bytes);
    munmap(base, size_bytes);
    return verdict;
}

/* Opening the existing file ---------------------------------------------------------------------------------------- */

static bool name_is(int directory, const char *name, const struct stat *status)
{
    struct stat now;

    return fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == status->st_dev &&
           now.st_ino == status->st_ino;
}

/* Converts the error of a failed open(). A lack of descriptors or memory says nothing about the name. */
static int error_of_open(int error)
{
    return error == ENOENT || error == EMFILE || error == ENFILE || error == ENOMEM ? -error : -EEXIST;
}

/*
 * Opens name if it is a regular file. Examines it through an O_PATH descriptor, and then opens the same file through
 * that, so that a FIFO or a device put there in between is not opened.
 */
static int open_regular(int directory, const char *name, struct stat *ret_status)
{
    int place = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int descriptor, result = -EEXIST;
    char link[RIP_LINK_BYTES];

    if (place < 0)
        return error_of_open(errno);
    if (fstat(place, ret_status) == 0 && S_ISREG(ret_status->st_mode)) {
        rip__describe_descriptor(place, link);
        descriptor = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0 && errno == ENOENT) /* no /proc */
            descriptor = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        result = descriptor >= 0 ? descriptor : error_of_open(errno);
    }
    close(place);
    return result;
}

/*
 * Opens the regular file name and locks its TAKEOVER byte. Returns 0, or -ENOENT if there is no such name, -EAGAIN if
 * it changed or another process has the lock, -EEXIST if it must not be touched.
 */
static int open_locked(int directory, const char *name, int *ret_descriptor, struct stat *ret_status)
{
    struct stat status;
    int descriptor = open_regular(directory, name, &status);

    if (descriptor < 0)
        return descriptor;
    if (!rip__set_lock(descriptor, F_OFD_SETLK, F_WRLCK, RIP_LOCK_TAKEOVER_OFFSET, 1) ||
        !name_is(directory, name, &status)) {
        close(descriptor);
        return -EAGAIN;
    }
    *ret_descriptor = descriptor;
    *ret_status = status;
    return 0;
}

static int error_of_verdict(enum verdict verdict)
{
    return verdict == VERDICT_LIVE ? -EBUSY : verdict == VERDICT_FOREIGN ? -EEXIST : 0;
}

/* Moving away ------------------------------------------------------------------------------------------------------ */

/* Renames the dead ring at name to previous, which replaces an older dead ring. */
static int rename_to_previous(int directory, const char *name, const char *previous, const struct stat *status)
{
    struct stat older_status;
    int older, result;

    if (renameat2(directory, name, directory, previous, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST)
        return errno == ENOENT ? -EAGAIN : -errno;
    if (name_is(directory, previous, status)) /* two links to one file: rename() would do nothing */
        return unlinkat(directory, name, 0) == 0 ? 0 : -errno;
    result = open_locked(directory, previous, &older, &older_status);
    if (result < 0)
        return result == -ENOENT ? -EAGAIN : result;
    result = error_of_verdict(judge(older));
    if (result == 0 && renameat(directory, name, directory, previous) < 0)
        result = -errno;
    close(older);
    return result;
}

static int takeover(int directory, const char *name)
{
    char previous[NAME_MAX + 1];
    enum verdict verdict;
    struct stat status;
    int descriptor, result;

    result = open_locked(directory, name, &descriptor, &status);
    if (result < 0)
        return result == -ENOENT ? 0 : result;
    verdict = judge(descriptor);
    result = error_of_verdict(verdict);
    if (verdict == VERDICT_EMPTY)
        result = unlinkat(directory, name, 0) == 0 ? 0 : -errno;
    else if (verdict == VERDICT_DEAD && strlen(name) + sizeof(".prev") > sizeof(previous))
        result = -ENAMETOOLONG;
    else if (verdict == VERDICT_DEAD) {
        snprintf(previous, sizeof(previous), "%.*s.prev", NAME_MAX - 5, name);
        result = rename_to_previous(directory, name, previous, &status);
    }
    close(descriptor);
    return result;
}

/* Old dead rings of a crash loop ----------------------------------------------------------------------------------- */

/* Returns true for "STEM.PID" or "STEM.PID~NUMBER" if no process has that pid. */
static bool is_name_of_dead(const char *name, const char *stem)
{
    size_t bytes = strlen(stem);
    char *end;
    long pid;

    if (strncmp(name, stem, bytes) != 0 || name[bytes] != '.' || name[bytes + 1] < '1' || name[bytes + 1] > '9')
        return false;
    pid = strtol(name + bytes + 1, &end, 10);
    return (*end == '\0' || *end == '~') && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Removes name if it is a dead ring. */
static void remove_dead(int directory, const char *name)
{
    struct stat status;
    int descriptor;

    if (open_locked(directory, name, &descriptor, &status) < 0)
        return;
    if (judge(descriptor) == VERDICT_DEAD)
        unlinkat(directory, name, 0);
    close(descriptor);
}

/* The latest rings seen so far, at most KEPT_MAX. */
struct latest {
    unsigned keep;
    unsigned count;
    struct {
        struct timespec time;
        char name[NAME_MAX + 1];
    } kept[KEPT_MAX];
};

static bool is_later(const struct timespec *time, const struct timespec *other)
{
    return time->tv_sec != other->tv_sec ? time->tv_sec > other->tv_sec : time->tv_nsec > other->tv_nsec;
}

/* Returns the oldest kept ring; keep is not 0. */
static unsigned oldest_of(const struct latest *latest)
{
    unsigned oldest = 0;

    for (unsigned i = 1; i < latest->count; i++) {
        if (is_later(&latest->kept[oldest].time, &latest->kept[i].time))
            oldest = i;
    }
    return oldest;
}

/* Adds a ring. If there are too many, removes the oldest. */
static void keep_if_latest(struct latest *latest, int directory, const char *name, const struct timespec *time)
{
    unsigned place = latest->count;

    if (latest->count < latest->keep) {
        latest->count++;
    } else {
        place = oldest_of(latest);
        if (!is_later(time, &latest->kept[place].time)) {
            remove_dead(directory, name);
            return;
        }
        remove_dead(directory, latest->kept[place].name);
    }
    latest->kept[place].time = *time;
    snprintf(latest->kept[place].name, sizeof(latest->kept[place].name), "%.*s", NAME_MAX, name);
}

static void bound_entry(struct latest *latest, int directory, const char *stem, const char *name)
{
    const bool unfinished = strncmp(name, RIP_UNFINISHED_PREFIX, sizeof(RIP_UNFINISHED_PREFIX) - 1) == 0;
    struct stat status;

    if ((!unfinished && !is_name_of_dead(name, stem)) || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return;
    if (!unfinished)
        keep_if_latest(latest, directory, name, &status.st_mtim);
    else if (rip__clock_ns(CLOCK_REALTIME) / 1000000000u > (uint64_t)status.st_mtim.tv_sec + UNFINISHED_MAX_S)
        unlinkat(directory, name, 0); /* its process was killed while it made its ring */
}

/* Does not use opendir(): its buffer comes from malloc(), which may not be ready, or may be the program's own. */
void rip__file_bound_dead(const char *path, const char *stem, unsigned keep)
{
    struct latest latest = {.keep = keep < KEPT_MAX ? keep : KEPT_MAX};
    _Alignas(struct dirent64) char entries[2048];
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t bytes;

    if (directory < 0)
        return;
    while ((bytes = getdents64(directory, entries, sizeof(entries))) > 0) {
        const struct dirent64 *entry;

        for (ssize_t offset = 0; offset < bytes; offset += entry->d_reclen) {
            entry = (const struct dirent64 *)(const void *)(entries + offset);
            bound_entry(&latest, directory, stem, entry->d_name);
        }
    }
    close(directory);
}

/* Publishing ------------------------------------------------------------------------------------------------------- */

static int link_name(const struct creation *creation)
{
    char link[RIP_LINK_BYTES];

    if (creation->temporary_name[0] != '\0')
        return renameat2(creation->directory, creation->temporary_name, creation->directory, creation->name,
                         RENAME_NOREPLACE) == 0
                   ? 0
                   : -errno;
    rip__describe_descriptor(creation->descriptor, link);
    if (linkat(AT_FDCWD, link, creation->directory, creation->name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    return linkat(creation->descriptor, "", creation->directory, creation->name, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

/* Several processes may want the name at once: the first that links it gets it, the others find a live ring. */
static int publish(const struct creation *creation)
{
    const struct timespec pause = {.tv_nsec = PUBLISH_PAUSE_NS};

    for (unsigned attempt = 0; attempt < PUBLISH_ATTEMPTS; attempt++) {
        int result = link_name(creation);

        if (result != -EEXIST)
            return result;
        result = takeover(creation->directory, creation->name);
        if (result == -EAGAIN)
            nanosleep(&pause, NULL);
        else if (result < 0)
            return result;
    }
    return -EBUSY;
}

static void creation_undo(struct creation *creation)
{
    struct rip_writer *writer = &rip__writer;

    rip__process_drop_life();
    if (writer->life_descriptor >= 0)
        close(writer->life_descriptor);
    if (writer->base != NULL)
        munmap(writer->base, writer->geometry.file_bytes);
    if (creation->temporary_name[0] != '\0')
        unlinkat(creation->directory, creation->temporary_name, 0);
    if (creation->descriptor >= 0)
        close(creation->descriptor);
    writer->base = NULL;
    writer->descriptor = -1;
    writer->life_descriptor = -1;
    writer->process = RIP_NO_PROCESS;
    writer->entered = false;
    writer->path[0] = '\0';
}

/* All steps between an empty file and a published one, in the only correct order. */
static int creation_run(struct creation *creation)
{
    struct rip_writer *writer = &rip__writer;
    int result = make_file(creation, writer->geometry.file_bytes);

    if (result < 0)
        return result;
    creation->descriptor = rip__raise_descriptor(creation->descriptor);
    result = map_file(creation);
    if (result == 0)
        result = populate_sections(&writer->geometry);
    if (result < 0)
        return result;
    fill_header(creation);
    rip__fork_mark();
    result = rip__process_enter();
    if (result < 0)
        return result;
    rip_store_release(&rip__header()->magic, RIP_MAGIC); /* pairs with the acquire of the magic in reader.c */
    if (rip_view_open(&writer->view, writer->base, writer->geometry.file_bytes) != RIP_OK)
        return -EPROTO; /* a bug: the reader refuses what the writer wrote */
    return publish(creation);
}

static int ring_create(const char *file, uint32_t max_procs)
{
    struct rip_writer *writer = &rip__writer;
    struct creation creation = {.directory = -1, .descriptor = -1};
    int result;

    /* A program under the preload library makes no notes and runs no scripts, unless it is a known interpreter. */
    geometry_init(&writer->geometry, max_procs, !writer->preloaded || writer->interprets);
    writer->backed_end = 0;
    writer->recent_end = 0;
    result = strlen(file) < PATH_MAX ? open_directory(&creation, file, writer->path) : -ENAMETOOLONG;
    if (result == 0)
        memcpy(given_path, file, strlen(file) + 1);
    if (result == 0)
        result = check_file_system(creation.directory);
    if (result == 0)
        result = check_file_limit(writer->geometry.file_bytes);
    if (result == 0)
        result = creation_run(&creation);
    if (result < 0) {
        creation_undo(&creation);
    } else {
        rip_store_release(&rip_ring, rip__header()); /* pairs with the acquire loads of rip_ring in thread.c */
        DTRACE_PROBE2(librip, ring_made, file, rip__header()->slot_capacity);
    }
    if (creation.directory >= 0)
        close(creation.directory);
    return result;
}

/* The process has a ring. The same file is accepted by any path, and the same path even if the file is gone. */
static int ring_again(const char *file)
{
    const struct rip_writer *writer = &rip__writer;
    struct creation place = {.directory = -1};
    char path[PATH_MAX];
    struct stat status;
    bool same_path;

    if (stat(file, &status) == 0 && status.st_dev == writer->device && status.st_ino == writer->inode)
        return 0;
    if (open_directory(&place, file, path) < 0 || path[0] == '\0')
        same_path = file[0] == '/' && strcmp(file, given_path) == 0;
    else
        same_path = strcmp(path, writer->path) == 0;
    if (place.directory >= 0)
        close(place.directory);
    return same_path ? 0 : -EBUSY;
}

/* Interface -------------------------------------------------------------------------------------------------------- */

bool rip__is_disabled(void)
{
    const char *value = getenv("RIP_DISABLE");

    return value != NULL && strcmp(value, "1") == 0;
}

bool rip_create_ring(const char *file, uint32_t max_procs)
{
    struct rip_guard guard;
    int result;

    if (file == NULL || file[0] == '\0' || max_procs > RIP_CAPACITY_MAX) {
        errno = EINVAL;
        return false;
    }
    if (rip__is_disabled()) /* not a failure: programs that exit if they get no ring must also run */
        return true;
    if (!rip__lock(&guard)) {
        errno = EDEADLK;
        return false;
    }
    result = rip__writer.base != NULL ? ring_again(file) : ring_create(file, max_procs);
    rip__unlock(&guard);
    if (result < 0) {
        errno = -result;
        return false;
    }
    rip__modules_refresh();
    return true;
}

bool rip_create_ring_with(const struct rip_options *options)
{
    const unsigned char *bytes = (const unsigned char *)options;
    bool known = options != NULL && options->size_bytes >= sizeof(*options) && options->flags == 0;

    /* A longer struct comes from a newer program: bytes beyond the known fields must be zero. */
    for (size_t i = sizeof(*options); known && i < options->size_bytes; i++)
        known = i < RIP_PAGE_BYTES && bytes[i] == 0;
    if (!known) {
        errno = EINVAL;
        return false;
    }
    return rip_create_ring(options->file, options->max_procs);
}

/*
 * Unlinks the path as the owner of the file. In a sticky directory only the owner may unlink a file, and the program
 * may have switched its effective uid temporarily. The kernel lets each thread set its real or saved uid as fsuid.
 */
static void unlink_as(uid_t owner)
{
    uid_t before;

    if (unlink(rip__writer.path) == 0 || (errno != EPERM && errno != EACCES) || owner == geteuid())
        return;
    before = (uid_t)setfsuid(owner);
    unlink(rip__writer.path);
    setfsuid(before);
}

/*
 * Holds the TAKEOVER lock: otherwise a process that finds the ring dead could put its own ring at the name between the
 * check and the unlink.
 */
void rip__file_unlink(void)
{
    int descriptor = rip__writer.descriptor;
    bool has_descriptor = rip__file_is_ring(descriptor);
    struct stat status;

    if (rip__writer.path[0] == '\0' ||
        (has_descriptor && !rip__set_lock(descriptor, F_OFD_SETLK, F_WRLCK, RIP_LOCK_TAKEOVER_OFFSET, 1)))
        return;
    if (lstat(rip__writer.path, &status) == 0 && status.st_dev == rip__writer.device &&
        status.st_ino == rip__writer.inode)
        unlink_as(status.st_uid);
    if (has_descriptor)
        rip__set_lock(descriptor, F_OFD_SETLK, F_UNLCK, RIP_LOCK_TAKEOVER_OFFSET, 1);
}

int rip__ring_fd(void)
{
    return rip__writer.descriptor;
}
