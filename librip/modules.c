/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - records in the ring which module is mapped where: otherwise the addresses of a dead process mean nothing.
 *
 * Guarantees
 *   1. Entries of the module table are written once and published by their end address. Equal modules of several
 *      processes share an entry.
 *   2. The list of a record only grows. If modules overlap (one was unloaded, another was loaded in its place), the
 *      newest entry of the list is the one that is mapped now.
 *   3. The loader is queried outside the library's mutex, by one thread at a time. Only fork() waits for that thread:
 *      otherwise its child would find the loader's lock taken for ever. A thread that finds it busy sets refresh_wanted
 *      instead of waiting.
 *   4. Notes of a module are read only within its mapped segment.
 *   5. rip__modules_learn() takes no lock of the loader: it may be called in a signal handler, and in the forked child
 *      of a process whose other threads held such a lock.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer.h"

#pragma weak _dl_find_object /* since glibc 2.35 */

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER; /* taken before rip__writer.mutex */
static uint32_t refresh_wanted;
static __thread bool is_listing __attribute__((tls_model("initial-exec")));

/* The modules that the loader lists, in the format of the ring. */
struct collection {
    struct rip_module *modules;
    uint32_t count;
    uint32_t capacity;
    uint64_t adds;
    uint64_t subs;
};

/* Querying the loader ---------------------------------------------------------------------------------------------- */

static int read_generation(struct dl_phdr_info *info, size_t size, void *data)
{
    struct collection *collection = data;

    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
        collection->adds = info->dlpi_adds;
        collection->subs = info->dlpi_subs;
    }
    return 1; /* the first object is enough */
}

static int count_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    ((struct collection *)data)->capacity++;
    return 0;
}

static uint64_t note_align(uint64_t bytes)
{
    return (bytes + 3) & ~UINT64_C(3);
}

/* Finds the build id among the notes in [start, end). */
static void read_build_id(struct rip_module *module, const unsigned char *start, const unsigned char *end)
{
    ElfW(Nhdr) note;

    while ((size_t)(end - start) >= sizeof(note)) {
        uint64_t name_bytes, text_bytes, room;

        memcpy(&note, start, sizeof(note));
        start += sizeof(note);
        room = (uint64_t)(end - start);
        name_bytes = note_align(note.n_namesz);
        text_bytes = note_align(note.n_descsz);
        if (name_bytes > room || text_bytes > room - name_bytes)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(start, "GNU", 4) == 0) {
            uint32_t kept = note.n_descsz < RIP_BUILD_ID_BYTES ? note.n_descsz : RIP_BUILD_ID_BYTES;

            memcpy(module->build_id, start + name_bytes, kept);
            module->build_id_bytes = (uint8_t)kept;
            return;
        }
        start += name_bytes + text_bytes;
    }
}

/* Returns true if [address, address + bytes) is in a readable segment of the object. */
static bool is_mapped(const struct dl_phdr_info *info, uint64_t address, uint64_t bytes)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;

        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && address >= start &&
            address - start <= header->p_memsz && bytes <= header->p_memsz - (address - start))
            return true;
    }
    return false;
}

static void read_segments(struct rip_module *module, const struct dl_phdr_info *info)
{
    uint64_t page_bytes = rip__page_bytes();

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        uint64_t end = start + header->p_memsz;

        if (header->p_type == PT_LOAD) {
            start &= ~(page_bytes - 1);
            end = (end + page_bytes - 1) & ~(page_bytes - 1);
            if (module->end == 0 || start < module->start)
                module->start = start;
            if (end > module->end)
                module->end = end;
        } else if (header->p_type == PT_NOTE && module->build_id_bytes == 0 &&
                   is_mapped(info, start, header->p_memsz)) {
            const unsigned char *notes = (const unsigned char *)start;

            read_build_id(module, notes, notes + header->p_memsz);
        }
    }
}

/* Of a path that is too long, the end is kept: it says more than the beginning. */
static void set_path(struct rip_module *module, const char *path, size_t bytes)
{
    if (bytes > RIP_MODULE_PATH_BYTES) {
        path += bytes - RIP_MODULE_PATH_BYTES;
        bytes = RIP_MODULE_PATH_BYTES;
        module->flags |= RIP_MODULE_PATH_TRUNCATED;
    }
    memcpy(module->path, path, bytes);
    module->path_bytes = (uint16_t)bytes;
}

/*
 * Caller holds the mutex. The path is read once: after chroot() there may be no /proc. Without it, uses the name the
 * program was started with.
 */
static void set_program_path(struct rip_module *module)
{
    static char path[PATH_MAX]; /* both protected by the mutex; too large for a coroutine's stack */
    static size_t path_bytes;
    const char *started_as = (const char *)(uintptr_t)getauxval(AT_EXECFN);

    if (path_bytes == 0) {
        ssize_t bytes = readlink(RIP_PROC_OWN("exe"), path, sizeof(path));

        path_bytes = bytes > 0 ? (size_t)bytes : 0;
    }
    if (path_bytes != 0)
        set_path(module, path, path_bytes);
    else if (started_as != NULL)
        set_path(module, started_as, strlen(started_as));
}

static int collect_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct collection *collection = data;
    struct rip_module *module = &collection->modules[collection->count];
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);

    (void)size;
    if (collection->count == collection->capacity)
        return 1;
    module->bias = info->dlpi_addr;
    read_segments(module, info);
    if (collection->count == 0) { /* the program comes first, and has no name */
        module->flags |= RIP_MODULE_MAIN;
    } else if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
        set_path(module, info->dlpi_name, strlen(info->dlpi_name));
    } else if (vdso != 0 && vdso >= module->start && vdso < module->end) {
        set_path(module, "linux-vdso.so.1", strlen("linux-vdso.so.1"));
    }
    if (module->start < module->end)
        collection->count++;
    else
        memset(module, 0, sizeof(*module));
    return 0;
}

/*
 * Reads the program headers if they follow the ELF header, as they do unless a tool has moved them: then they are
 * mapped with it. Otherwise only the extent of the module is known.
 */
static void read_headers(struct rip_module *module, const struct dl_find_object *found)
{
    const char *start = found->dlfo_map_start;
    const uint64_t page_bytes = rip__page_bytes();
    struct dl_phdr_info info = {.dlpi_addr = module->bias};
    ElfW(Ehdr) header;

    memcpy(&header, start, sizeof(header)); /* the first page of the first segment is mapped */
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phoff == sizeof(header) &&
        header.e_phentsize == sizeof(ElfW(Phdr)) &&
        header.e_phnum <= (page_bytes - sizeof(header)) / sizeof(ElfW(Phdr))) {
        info.dlpi_phdr = (const ElfW(Phdr) *)(const void *)(start + sizeof(header));
        info.dlpi_phnum = header.e_phnum;
        read_segments(module, &info);
    }
    if (module->end == 0) {
        module->start = (uintptr_t)start & ~(page_bytes - 1);
        module->end = ((uintptr_t)found->dlfo_map_end + page_bytes - 1) & ~(page_bytes - 1);
    }
}

/*
 * Finds the object that contains the address. Returns false if the loader knows none, as for generated code. An object
 * without a name is the program.
 */
static bool find_object(uint64_t address, struct rip_module *ret_module)
{
    struct dl_find_object found;
    const char *name;

    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)address, &found) != 0)
        return false;
    name = found.dlfo_link_map->l_name;
    *ret_module = (struct rip_module){.bias = found.dlfo_link_map->l_addr};
    read_headers(ret_module, &found);
    if (name == NULL || name[0] == '\0')
        ret_module->flags |= RIP_MODULE_MAIN;
    else
        set_path(ret_module, name, strlen(name));
    return true;
}

/* The list --------------------------------------------------------------------------------------------------------- */

static bool is_same(const struct rip_module *entry, const struct rip_module *module)
{
    return entry->start == module->start && rip_load_acquire(&entry->end) == module->end && /* pairs with publish */
           entry->bias == module->bias && entry->flags == module->flags &&
           memcmp(entry->build_id, module->build_id, sizeof(entry->build_id)) == 0 &&
           entry->path_bytes == module->path_bytes && memcmp(entry->path, module->path, module->path_bytes) == 0;
}

/* Returns true if the newest listed module that overlaps this one is equal to it. */
static bool is_listed(const struct rip_module *module)
{
    for (uint32_t i = rip__writer.module_count; i-- > 0;) {
        const struct rip_module *entry = rip__module_at(rip__writer.module_index[i]);

        if (entry->start < module->end && module->start < rip_load_acquire(&entry->end)) /* pairs with publish */
            return is_same(entry, module);
    }
    return false;
}

static int add_entry(const struct rip_module *module, uint32_t *ret_index)
{
    struct rip_ring *ring = rip__header();
    uint32_t index = rip_load_relaxed(&ring->module_high_water);
    struct rip_module *entry;
    int result;

    do {
        if (index >= rip__writer.geometry.module_capacity)
            return -ENOSPC;
        result =
            rip__populate(rip__writer.geometry.module_offset + (uint64_t)index * RIP_MODULE_BYTES, RIP_MODULE_BYTES);
        if (result < 0)
            return result;
        /* pairs with the acquire of module_high_water in reader.c */
    } while (!rip_compare_exchange(&ring->module_high_water, &index, index + 1));
    entry = rip__module_at(index);
    memcpy(&entry->bias, &module->bias, sizeof(*module) - offsetof(struct rip_module, bias));
    entry->start = module->start;
    rip_store_release(&entry->end, module->end); /* pairs with the acquire of end in reader.c */
    *ret_index = index;
    return 0;
}

/* Returns the entry of the table for the module. Adds it if there is none. */
static int find_entry(const struct rip_module *module, uint32_t *ret_index)
{
    /* pairs with the exchange in add_entry() of another process: entries below it are backed */
    uint32_t high_water = rip_load_acquire(&rip__header()->module_high_water);

    if (high_water > rip__writer.geometry.module_capacity)
        high_water = rip__writer.geometry.module_capacity;
    for (uint32_t i = 0; i < high_water; i++) {
        if (is_same(rip__module_at(i), module)) {
            *ret_index = i;
            return 0;
        }
    }
    return add_entry(module, ret_index);
}

void rip__modules_write(void)
{
    struct rip_process *process = rip__process_at(rip__writer.process);

    for (uint32_t i = rip__writer.module_written; i < rip__writer.module_count; i++)
        rip_store_relaxed(&process->module_index[i], rip__writer.module_index[i]);
    rip__writer.module_written = rip__writer.module_count;
    rip_store_release(&process->module_count, rip__writer.module_count); /* pairs with its acquire in reader.c */
}

static void list_module(struct rip_module *module)
{
    uint32_t index;

    if ((module->flags & RIP_MODULE_MAIN) != 0)
        set_program_path(module);
    if (is_listed(module))
        return;
    if (rip__writer.module_count == RIP_PROCESS_MODULES || find_entry(module, &index) < 0) {
        rip_add_relaxed(&rip__header()->modules_dropped_count, 1);
        return;
    }
    rip__writer.module_index[rip__writer.module_count] = (uint16_t)index;
    rip_store_relaxed(&rip__writer.module_count, rip__writer.module_count + 1);
}

/* Caller holds the mutex. */
static void learn(uint64_t address)
{
    static struct rip_module module; /* protected by the mutex; too large for a coroutine's stack */

    if (find_object(address, &module))
        list_module(&module);
}

bool rip__modules_learn(uint64_t address)
{
    struct rip_guard guard;
    bool can_learn;

    if (rip__is_filtered() || !rip__lock(&guard))
        return false;
    can_learn = rip__writer.entered && !rip__writer.left;
    if (can_learn) {
        rip__process_describe();
        if (rip__writer.module_count == 0)
            learn(getauxval(AT_ENTRY)); /* the program: its path says what the process is */
        learn(address);
        rip__modules_write();
    }
    rip__unlock(&guard);
    return can_learn;
}

/* Refreshing ------------------------------------------------------------------------------------------------------- */

static void list_all(const struct collection *collection)
{
    struct rip_guard guard;

    if (!rip__lock(&guard))
        return;
    if (rip__writer.entered && !rip__writer.left) {
        for (uint32_t i = 0; i < collection->count; i++)
            list_module(&collection->modules[i]);
        rip_store_relaxed(&rip__writer.module_adds, collection->adds);
        rip_store_relaxed(&rip__writer.module_subs, collection->subs);
        rip__modules_write();
    }
    rip__unlock(&guard);
}

static void refresh(void)
{
    struct collection collection = {0};
    size_t bytes;

    dl_iterate_phdr(read_generation, &collection);
    if (collection.adds != 0 && collection.adds == rip_load_relaxed(&rip__writer.module_adds) &&
        collection.subs == rip_load_relaxed(&rip__writer.module_subs))
        return;
    dl_iterate_phdr(count_object, &collection);
    collection.capacity += 8; /* for modules that are loaded between the two calls */
    bytes = collection.capacity * sizeof(*collection.modules);
    collection.modules = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (collection.modules == MAP_FAILED)
        return; /* the next call tries again */
    dl_iterate_phdr(collect_object, &collection);
    list_all(&collection);
    munmap(collection.modules, bytes);
}

void rip__modules_refresh(void)
{
    int saved_errno = errno, cancel_state;

    if (rip_load_acquire(&rip_ring) == NULL || rip__is_filtered()) /* pairs with the release in file.c */
        return;
    if (rip__writer.preloaded && _dl_find_object != NULL && rip_load_relaxed(&rip__writer.module_count) == 0)
        return;
    /* A cancelled thread would leave `listing` locked, and fork() would hang. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    rip_store_release(&refresh_wanted, 1); /* pairs with the exchange, here or in another thread */
    is_listing = true; /* before the mutex: a signal handler that forks must not wait for its own thread */
    while (rip_load_acquire(&refresh_wanted) != 0 && pthread_mutex_trylock(&listing) == 0) {
        uint32_t wanted = 1;

        if (rip_compare_exchange(&refresh_wanted, &wanted, 0))
            refresh();
        pthread_mutex_unlock(&listing);
    }
    is_listing = false;
    errno = saved_errno;
    rip_signal_fence(); /* at the very end, as in rip__unlock() */
    pthread_setcancelstate(cancel_state, NULL);
}

bool rip__modules_is_listing(void)
{
    return is_listing;
}

void rip__modules_before_fork(void)
{
    pthread_mutex_lock(&listing);
}

void rip__modules_after_fork(bool was_locked)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

    if (was_locked)
        pthread_mutex_unlock(&listing);
    else
        listing = unlocked;
}

void rip_refresh_modules(void)
{
    rip__modules_refresh();
}
