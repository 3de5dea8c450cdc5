/* SPDX-License-Identifier: Apache-2.0 */
/* test_modules.c - the table of modules: librip/modules.c. */
#include "unit/writer_test.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

/* Small libraries that this program is not linked with. */
#define LIBRARY_A "libanl.so.1"
#define LIBRARY_B "libutil.so.1"

static struct rip_module_info module_of(uint32_t process, uint32_t nth)
{
    struct rip_module_info info;

    CHECK(rip_view_module(own_view(), process, nth, &info) == RIP_OK);
    return info;
}

static uint32_t module_count(uint32_t process)
{
    struct rip_process_info info;

    CHECK(rip_view_process(own_view(), process, &info) == RIP_OK);
    return info.module_count;
}

/* Finds the newest module that contains address. Returns false if there is none. */
static bool find_module(uint32_t process, uint64_t address, struct rip_module_info *ret_info)
{
    for (uint32_t nth = module_count(process); nth-- > 0;) {
        *ret_info = module_of(process, nth);
        if (address >= ret_info->start && address < ret_info->end)
            return true;
    }
    return false;
}

static bool path_ends(const struct rip_module_info *info, const char *tail)
{
    size_t bytes = strlen(tail);

    return info->path_bytes >= bytes && memcmp(info->path + info->path_bytes - bytes, tail, bytes) == 0;
}

static bool module_is(uint32_t process, uint64_t address, const char *tail)
{
    struct rip_module_info info;

    return find_module(process, address, &info) && path_ends(&info, tail);
}

/* Compares the build id with the note in the file. */
static bool file_has_build_id(const char *path, const struct rip_module_info *info)
{
    static const unsigned char head[16] = {4, 0, 0, 0, 20, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0};
    static unsigned char bytes[4096];
    int descriptor = open(path, O_RDONLY);
    ssize_t count = read(descriptor, bytes, sizeof(bytes));
    const unsigned char *found = memmem(bytes, count > 0 ? (size_t)count : 0, head, sizeof(head));

    close(descriptor);
    return found != NULL && info->build_id_bytes == 20 && memcmp(found + 16, info->build_id, 20) == 0;
}

FORKED_TEST(program_and_its_libraries)
{
    struct rip_module_info info;
    char path[256] = {0};

    make_ring(100);
    CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    CHECK(find_module(0, (uintptr_t)module_count, &info));
    CHECK((info.flags & RIP_MODULE_MAIN) != 0 && path_ends(&info, path) && info.path_bytes == strlen(path));
    CHECK(info.start % 4096 == 0 && info.end % 4096 == 0);
    CHECK(file_has_build_id(path, &info));
    CHECK(find_module(0, (uintptr_t)dlsym(RTLD_DEFAULT, "getpid"), &info));
    CHECK(path_ends(&info, "/libc.so.6") && info.flags == 0 && info.build_id_bytes == 20);
    CHECK(rip_ring->modules_dropped_count == 0 && rip_ring->module_high_water == module_count(0));
}

FORKED_TEST(program_path_without_proc)
{
    const char *started_as = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    struct rip_module_info info;

    if (chroot(test_directory) != 0)
        skip_test("chroot() needs root");
    CHECK(rip_create_ring("/ring", 100));
    CHECK(find_module(0, (uintptr_t)module_count, &info));
    CHECK((info.flags & RIP_MODULE_MAIN) != 0 && path_ends(&info, started_as) && info.path_bytes == strlen(started_as));
}

FORKED_TEST(program_path_after_chroot)
{
    struct rip_module_info info;
    char path[256] = {0};
    uint32_t count;

    CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    make_ring(100);
    count = module_count(0);
    CHECK(dlopen(LIBRARY_A, RTLD_NOW) != NULL);
    *(char *)(uintptr_t)getauxval(AT_EXECFN) = '?'; /* the name is no longer valid */
    if (chroot(test_directory) != 0)
        skip_test("chroot() needs root");
    rip_refresh_modules();
    CHECK(module_count(0) == count + 1);
    CHECK(find_module(0, (uintptr_t)module_count, &info));
    CHECK(path_ends(&info, path) && info.path_bytes == strlen(path));
}

static int find_vdso(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    if (info->dlpi_name != NULL && strstr(info->dlpi_name, "vdso") != NULL)
        *(uint64_t *)data = info->dlpi_addr;
    return 0;
}

FORKED_TEST(vdso_has_a_name)
{
    uint64_t address = 0;

    dl_iterate_phdr(find_vdso, &address);
    if (address == 0)
        skip_test("this process has no vdso");
    make_ring(100);
    CHECK(module_is(0, address, "linux-vdso.so.1"));
}

FORKED_TEST(refresh_without_changes_adds_nothing)
{
    make_ring(100);
    for (unsigned i = 1; i < 20; i++) {
        uint32_t count = module_count(0);

        register_id(i, "x");
        rip_refresh_modules();
        CHECK(module_count(0) == count && rip_ring->module_high_water == count);
    }
}

static uint64_t load(const char *name, void **ret_handle)
{
    struct link_map *map;

    *ret_handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*ret_handle == NULL)
        skip_test("a library for this test is not installed");
    CHECK(dlinfo(*ret_handle, RTLD_DI_LINKMAP, &map) == 0);
    return map->l_addr;
}

FORKED_TEST(library_loaded_later)
{
    struct rip_module_info info;
    uint64_t address;
    void *handle;

    make_ring_with_id(100);
    address = load(LIBRARY_A, &handle);
    CHECK(!find_module(0, address, &info));
    rip_refresh_modules();
    CHECK(find_module(0, address, &info) && path_ends(&info, LIBRARY_A) && info.bias == address);
    address = load(LIBRARY_B, &handle);
    CHECK(!find_module(0, address, &info));
    register_id(2, "two"); /* registration refreshes the modules */
    CHECK(module_is(0, address, LIBRARY_B));
}

/* Finds a module by an address in it. A later full refresh finds the same entry. */
FORKED_TEST(module_found_by_address)
{
    struct rip_module_info info, again;
    uint32_t count;
    uint64_t address;
    void *handle;

    CHECK(!rip__modules_learn((uintptr_t)module_count)); /* no ring yet */
    make_ring_with_id(100);
    count = module_count(0);
    address = load(LIBRARY_A, &handle);
    errno = 77;
    CHECK(rip__modules_learn(address + 64) && errno == 77);
    CHECK(module_count(0) == count + 1 && find_module(0, address, &info));
    CHECK(path_ends(&info, LIBRARY_A) && info.bias == address && info.build_id_bytes == 20);
    CHECK(rip__modules_learn(address + 128) && module_count(0) == count + 1);
    rip_refresh_modules();
    CHECK(module_count(0) == count + 1 && find_module(0, address, &again));
    CHECK(memcmp(&info, &again, sizeof(info)) == 0);
}

/*
 * Under the preload library modules are entered at the first call, so that a program that exits at once costs nothing.
 */
FORKED_TEST(preload_library_enters_modules_that_call)
{
    uint64_t address = (uintptr_t)dlsym(RTLD_DEFAULT, "getpid");
    struct rip_module_info info;
    char path[256] = {0};

    CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    rip__set_preloaded(0);
    make_ring(100);
    register_id(0, "main");
    rip_refresh_modules();
    CHECK(module_count(0) == 0);
    CHECK(rip__modules_learn(address) && module_count(0) == 2);
    CHECK(find_module(0, address, &info) && path_ends(&info, "/libc.so.6") && info.flags == 0);
    info = module_of(0, 0);
    CHECK(info.flags == RIP_MODULE_MAIN && path_ends(&info, path) && file_has_build_id(path, &info));
    CHECK(rip__modules_learn((uintptr_t)module_count) && module_count(0) == 2);
    rip_refresh_modules();
    CHECK(module_count(0) > 2 && module_of(0, 0).flags == RIP_MODULE_MAIN);
}

FORKED_TEST(addresses_that_add_no_module)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t count;

    CHECK(page != MAP_FAILED && rip_create_ring(test_path("ring"), 100));
    register_id(1, "one");
    count = module_count(0);
    CHECK(rip__modules_learn((uintptr_t)page));
    CHECK(rip__modules_learn((uintptr_t)module_count));
    CHECK(rip__modules_learn((uintptr_t)dlsym(RTLD_DEFAULT, "getpid")));
    CHECK(rip__modules_learn(0) && rip__modules_learn(UINT64_MAX));
    CHECK(module_count(0) == count && rip_ring->modules_dropped_count == 0);
}

static int fork_inside(struct dl_phdr_info *info, size_t size, void *data)
{
    uint64_t address = *(uint64_t *)data;
    pid_t pid = fork();

    (void)info;
    (void)size;
    if (pid == 0) {
        register_id(2, "two");
        CHECK(rip__modules_learn(address + 64));
        _exit(find_module(rip__writer.process, address, &(struct rip_module_info){0}) ? 0 : 1);
    }
    CHECK(exit_status_of(pid) == 0);
    return 1;
}

/* The loader's lock is held at the fork: a child that took the lock would hang. */
FORKED_TEST(child_finds_modules_while_the_loader_is_locked)
{
    uint64_t address;
    void *handle;

    make_ring_with_id(100);
    address = load(LIBRARY_A, &handle);
    dl_iterate_phdr(fork_inside, &address);
}

static void load_in_turn(bool by_address)
{
    static const char *const names[] = {LIBRARY_A, LIBRARY_B, LIBRARY_A, LIBRARY_A, LIBRARY_B};

    make_ring(100);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        void *handle;
        uint64_t address = load(names[i], &handle);

        case_number = i;
        if (by_address)
            CHECK(rip__modules_learn(address + 64));
        else
            rip_refresh_modules();
        CHECK(module_is(0, address, names[i]));
        CHECK(dlclose(handle) == 0);
    }
    CHECK(rip_ring->module_high_water <= module_count(0)); /* reloading adds an index, not an entry */
}

/* Libraries are loaded and unloaded in turn, perhaps at the same addresses: the newest entry is right each time. */
FORKED_TEST(unloaded_and_loaded_again)
{
    if (in_child()) {
        load_in_turn(false);
        rip__leave(RIP_LEAVE_LAST);
        _exit(0);
    }
    load_in_turn(true);
}

FORKED_TEST(children_share_module_entries)
{
    struct rip_module_info info;
    uint32_t high_water, count;

    make_ring(100);
    high_water = rip_ring->module_high_water;
    count = module_count(0);
    if (in_child()) {
        uint64_t address;
        void *handle;

        register_id(1, "child");
        CHECK(module_count(1) == count && rip_ring->module_high_water == high_water);
        address = load(LIBRARY_A, &handle);
        rip_refresh_modules();
        CHECK(find_module(1, address, &info) && !find_module(0, address, &info));
        _exit(0);
    }
    CHECK(module_count(0) == count);
    CHECK(rip_ring->module_high_water == high_water + 1);
}

FORKED_TEST(child_without_an_id_writes_nothing)
{
    make_ring(100);
    if (in_child()) {
        rip_refresh_modules();
        CHECK(module_count(1) == 0);
        _exit(0);
    }
}

/* Modules that do not fit into the table are counted. */
FORKED_TEST(full_module_table)
{
    uint32_t high_water, count;
    void *handle;

    make_ring(100);
    high_water = rip_ring->module_high_water;
    count = module_count(0);
    rip_ring->module_high_water = RIP_MODULE_MAX;
    for (uint32_t i = high_water; i < RIP_MODULE_MAX; i++) /* a full table has all its pages */
        CHECK(rip__populate(rip__writer.geometry.module_offset + i * RIP_MODULE_BYTES, 1) == 0);
    load(LIBRARY_A, &handle);
    rip_refresh_modules();
    CHECK(module_count(0) == count && rip_ring->modules_dropped_count == 1);
}
