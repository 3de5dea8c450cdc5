/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint.c - makes the shared object of a tracepoint, and loads it.
 *
 * The object has one function, a nop and a return, which is called with the address of the values. Its note says that
 * the arguments are at that address, in a form that every reader of USDT knows and that is the same for 1 argument or
 * 6. Readers count themselves in the semaphore, which is in the object's writable segment.
 *
 * Guarantees
 *   1. The object is complete and sealed before it is loaded: nobody can change the code that is executed.
 *   2. Names in the object consist of letters, digits and '_', because readers build commands from names.
 *   3. A tracepoint is on the list before its address is given to anybody, and is never changed or removed.
 *   4. If two threads define the same tracepoint, one object stays loaded, and both threads get that one.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rip/tracepoint.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, PAGE_BYTES_MAX = 1 << 12 };
#define OPERAND "%u(%%rdi)"
static const uint8_t probe_code[] = {0x90, 0xc3}; /* nop; ret */
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64, PAGE_BYTES_MAX = 1 << 16 };
#define OPERAND "[x0, %u]"
static const uint8_t probe_code[] = {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}; /* nop; ret */
#else
enum { MACHINE = EM_NONE, PAGE_BYTES_MAX = 1 << 16 };
#define OPERAND "%u"
static const uint8_t probe_code[] = {0};
#endif

#ifndef MFD_EXEC /* since glibc 2.38 */
#define MFD_EXEC 0x0010U
#endif

enum { SEGMENT_TEXT, SEGMENT_DATA, SEGMENT_DYNAMIC, SEGMENT_STACK, SEGMENT_COUNT };
enum { SYMBOL_NONE, SYMBOL_PROBE, SYMBOL_SEMAPHORE, SYMBOL_COUNT };
/* The order matters: bcc and bpftrace look for .probes only after the code, and for the note only after .probes. */
enum { UNUSED, HASH, SYMBOLS, STRINGS, BASE, TEXT, DYNAMIC, SEMAPHORE, NOTE, SECTION_STRINGS, SECTION_COUNT };

struct strings {
    char none[1], probe[sizeof("probe")], semaphore[sizeof("semaphore")];
};

static const struct strings strings = {"", "probe", "semaphore"};

static const char section_names[SECTION_COUNT][16] = {
    [HASH] = ".hash",         [SYMBOLS] = ".dynsym",    [STRINGS] = ".dynstr",
    [NOTE] = ".note.stapsdt", [BASE] = ".stapsdt.base", [TEXT] = ".text",
    [DYNAMIC] = ".dynamic",   [SEMAPHORE] = ".probes",  [SECTION_STRINGS] = ".shstrtab",
};

struct __attribute__((packed, aligned(4))) note {
    Elf64_Nhdr header;
    char owner[8];
    uint64_t location, base, semaphore;
    char texts[2 * (RIP_TRACEPOINT_NAME_MAX + 1) + RIP_TRACEPOINT_ARGUMENTS_MAX * sizeof("-8@40(%rdi)")];
};

/*
 * The file of the object. Every address equals its offset. The part before data is the executable segment, data the
 * writable one.
 */
struct object {
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENT_COUNT];
    Elf64_Shdr sections[SECTION_COUNT];
    char section_names[SECTION_COUNT][16];
    uint32_t hash[2 + 1 + SYMBOL_COUNT];
    Elf64_Sym symbols[SYMBOL_COUNT];
    struct strings strings;
    struct note note;
    char base[1]; /* readers compare its address with the one in the note, which is not relocated */
    _Alignas(16) uint8_t text[sizeof(probe_code)];
    struct {
        _Alignas(PAGE_BYTES_MAX) Elf64_Dyn dynamic[6];
        uint16_t semaphore;
    } data;
};

struct tracepoint {
    struct rip_tracepoint shown; /* the part that callers get */
    struct tracepoint *next;
    unsigned count;
    uint8_t types[RIP_TRACEPOINT_ARGUMENTS_MAX];
    char provider[RIP_TRACEPOINT_NAME_MAX + 1], name[RIP_TRACEPOINT_NAME_MAX + 1];
};

/* The list of all tracepoints, newest first. */
static struct tracepoint *tracepoints;

/* The object ------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct object, member)
#define BYTES(member) sizeof(((struct object *)NULL)->member)

static void fill_headers(struct object *object)
{
    object->header = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = MACHINE,
        .e_version = EV_CURRENT,
        .e_phoff = AT(segments),
        .e_shoff = AT(sections),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = SEGMENT_COUNT,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTION_COUNT,
        .e_shstrndx = SECTION_STRINGS,
    };
#define SEGMENT(type, flags, offset, bytes, align)                                                                     \
    (Elf64_Phdr){.p_type = (type),                                                                                     \
                 .p_flags = (flags),                                                                                   \
                 .p_offset = (offset),                                                                                 \
                 .p_vaddr = (offset),                                                                                  \
                 .p_paddr = (offset),                                                                                  \
                 .p_filesz = (bytes),                                                                                  \
                 .p_memsz = (bytes),                                                                                   \
                 .p_align = (align)}
    object->segments[SEGMENT_TEXT] = SEGMENT(PT_LOAD, PF_R | PF_X, 0, AT(text) + BYTES(text), PAGE_BYTES_MAX);
    object->segments[SEGMENT_DATA] = SEGMENT(PT_LOAD, PF_R | PF_W, AT(data), BYTES(data), PAGE_BYTES_MAX);
    object->segments[SEGMENT_DYNAMIC] = SEGMENT(PT_DYNAMIC, PF_R | PF_W, AT(data.dynamic), BYTES(data.dynamic), 8);
    object->segments[SEGMENT_STACK] = SEGMENT(PT_GNU_STACK, PF_R | PF_W, 0, 0, 16); /* else the stack is executable */
#undef SEGMENT
}

static void fill_sections(struct object *object)
{
#define SECTION(number, type, flags, member, link, entry)                                                              \
    object->sections[number] = (Elf64_Shdr){.sh_name = (number) * sizeof(section_names[0]),                            \
                                            .sh_type = (type),                                                         \
                                            .sh_flags = (flags),                                                       \
                                            .sh_addr = (flags) != 0 ? AT(member) : 0,                                  \
                                            .sh_offset = AT(member),                                                   \
                                            .sh_size = BYTES(member),                                                  \
                                            .sh_link = (link),                                                         \
                                            .sh_info = (number) == SYMBOLS, /* the first that is not local */          \
                                            .sh_addralign = __alignof__(((struct object *)NULL)->member),              \
                                            .sh_entsize = (entry)}
    SECTION(HASH, SHT_HASH, SHF_ALLOC, hash, SYMBOLS, sizeof(uint32_t));
    SECTION(SYMBOLS, SHT_DYNSYM, SHF_ALLOC, symbols, STRINGS, sizeof(Elf64_Sym));
    SECTION(STRINGS, SHT_STRTAB, SHF_ALLOC, strings, 0, 0);
    SECTION(NOTE, SHT_NOTE, 0, note, 0, 0);
    SECTION(BASE, SHT_PROGBITS, SHF_ALLOC, base, 0, 0);
    SECTION(TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, 0, 0);
    SECTION(DYNAMIC, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, data.dynamic, STRINGS, sizeof(Elf64_Dyn));
    SECTION(SEMAPHORE, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data.semaphore, 0, 0);
    SECTION(SECTION_STRINGS, SHT_STRTAB, 0, section_names, 0, 0);
#undef SECTION
    memcpy(object->section_names, section_names, sizeof(section_names));
}

static void fill_dynamic(struct object *object)
{
    static const uint32_t hash[] = {1, SYMBOL_COUNT, SYMBOL_PROBE, 0, SYMBOL_SEMAPHORE, 0}; /* one bucket */

    _Static_assert(sizeof(hash) == BYTES(hash), "one chain for each symbol");
    memcpy(object->hash, hash, sizeof(hash));
    object->strings = strings;
    object->symbols[SYMBOL_PROBE] = (Elf64_Sym){.st_name = offsetof(struct strings, probe),
                                                .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                                .st_shndx = TEXT,
                                                .st_value = AT(text),
                                                .st_size = BYTES(text)};
    object->symbols[SYMBOL_SEMAPHORE] = (Elf64_Sym){.st_name = offsetof(struct strings, semaphore),
                                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                                    .st_shndx = SEMAPHORE,
                                                    .st_value = AT(data.semaphore),
                                                    .st_size = BYTES(data.semaphore)};
    object->data.dynamic[0] = (Elf64_Dyn){.d_tag = DT_HASH, .d_un.d_ptr = AT(hash)};
    object->data.dynamic[1] = (Elf64_Dyn){.d_tag = DT_SYMTAB, .d_un.d_ptr = AT(symbols)};
    object->data.dynamic[2] = (Elf64_Dyn){.d_tag = DT_SYMENT, .d_un.d_val = sizeof(Elf64_Sym)};
    object->data.dynamic[3] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_ptr = AT(strings)};
    object->data.dynamic[4] = (Elf64_Dyn){.d_tag = DT_STRSZ, .d_un.d_val = BYTES(strings)};
}

static void fill_note(struct object *object, const struct tracepoint *tracepoint)
{
    static const char *const kinds[] = {[RIP_TRACEPOINT_INT64] = "-8",
                                        [RIP_TRACEPOINT_UINT64] = "8",
                                        [RIP_TRACEPOINT_DOUBLE] = "8", /* gdb 13 rejects all arguments if one is "8f" */
                                        [RIP_TRACEPOINT_STRING] = "8"};
    struct note *note = &object->note;
    size_t used =
        (size_t)snprintf(note->texts, sizeof(note->texts), "%s%c%s", tracepoint->provider, '\0', tracepoint->name) + 1;

    for (unsigned i = 0; i < tracepoint->count; i++)
        used += (size_t)snprintf(note->texts + used, sizeof(note->texts) - used, "%s%s@" OPERAND, i == 0 ? "" : " ",
                                 kinds[tracepoint->types[i]], i * (unsigned)sizeof(union rip_tracepoint_value));
    note->header = (Elf64_Nhdr){
        .n_namesz = sizeof(note->owner),
        .n_descsz = (Elf64_Word)(offsetof(struct note, texts) + used + 1 - offsetof(struct note, location)),
        .n_type = 3};
    memcpy(note->owner, "stapsdt", sizeof(note->owner));
    note->location = AT(text);
    note->base = AT(base);
    note->semaphore = AT(data.semaphore);
    object->sections[NOTE].sh_size = (offsetof(struct note, texts) + used + 1 + 3) & ~(size_t)3;
    memcpy(object->text, probe_code, sizeof(probe_code));
}

/* Loading ---------------------------------------------------------------------------------------------------------- */

/* The file has no name in any directory, so that nothing remains. */
static int file_open(void)
{
    static const char name[] = "rip-tracepoint";
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (descriptor < 0 && errno == EINVAL) /* Linux before 6.3 */
        descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) /* vm.memfd_noexec is 2 */
        descriptor = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
    return descriptor >= 0 ? descriptor : -errno;
}

static int file_write(int descriptor, const struct object *object)
{
    ssize_t bytes = write(descriptor, object, sizeof(*object));

    if (bytes != (ssize_t)sizeof(*object))
        return bytes < 0 ? -errno : -ENOSPC;
    fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    return 0;
}

/*
 * gdb opens the object by the path that it was loaded from. If an application has closed a descriptor that is not its
 * own, the number is free again, but an object loaded from the same path still exists, and dlopen() would return that
 * object. So this moves the descriptor to a number whose path is unused.
 */
static void *file_load(int *descriptor)
{
    char path[40];
    void *loaded;

    for (;;) {
        int higher;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), *descriptor);
        loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (loaded == NULL)
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
        dlclose(loaded);
        higher = fcntl(*descriptor, F_DUPFD_CLOEXEC, *descriptor + 1);
        if (higher < 0)
            return NULL;
        close(*descriptor);
        *descriptor = higher;
    }
}

/* Returns the handle of dlopen() and the descriptor, which must stay open. */
static int load(struct tracepoint *tracepoint, void **ret_loaded, int *ret_descriptor)
{
    int descriptor = -1, result = -ENOMEM;
    struct object *object = aligned_alloc(PAGE_BYTES_MAX, sizeof(*object));
    void *loaded = NULL;

    if (object == NULL)
        return result;
    memset(object, 0, sizeof(*object));
    fill_headers(object);
    fill_sections(object);
    fill_dynamic(object);
    fill_note(object, tracepoint);
    result = descriptor = file_open();
    if (descriptor >= 0)
        result = file_write(descriptor, object);
    free(object);
    if (result >= 0) {
        loaded = file_load(&descriptor);
        result = loaded != NULL ? 0 : -ENOEXEC;
    }
    if (result < 0) {
        if (descriptor >= 0)
            close(descriptor);
        return result;
    }
    tracepoint->shown.semaphore = dlsym(loaded, strings.semaphore);
    tracepoint->shown.probe = (void (*)(const union rip_tracepoint_value *))dlsym(loaded, strings.probe);
    *ret_loaded = loaded;
    *ret_descriptor = descriptor;
    return 0;
}

/* Defining --------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    size_t bytes = name != NULL ? strnlen(name, RIP_TRACEPOINT_NAME_MAX + 1) : 0;

    for (size_t i = 0; i < bytes; i++) {
        char letter = (char)(name[i] | 0x20);

        if (!(letter >= 'a' && letter <= 'z') && name[i] != '_' && !(i > 0 && name[i] >= '0' && name[i] <= '9'))
            return false;
    }
    return bytes > 0 && bytes <= RIP_TRACEPOINT_NAME_MAX;
}

static bool are_types(const uint8_t *types, unsigned count)
{
    if (count > RIP_TRACEPOINT_ARGUMENTS_MAX)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (types[i] < RIP_TRACEPOINT_INT64 || types[i] > RIP_TRACEPOINT_STRING)
            return false;
    }
    return true;
}

/* Returns 1 and the listed tracepoint with the same names, 0 if there is none but room for it, -EEXIST or -ENOSPC. */
static int find(struct tracepoint *list, const struct tracepoint *wanted, struct rip_tracepoint **ret_tracepoint)
{
    unsigned count = 0;

    for (; list != NULL; list = list->next, count++) {
        if (strcmp(list->provider, wanted->provider) != 0 || strcmp(list->name, wanted->name) != 0)
            continue;
        if (list->count != wanted->count || memcmp(list->types, wanted->types, sizeof(list->types)) != 0)
            return -EEXIST;
        *ret_tracepoint = &list->shown;
        return 1;
    }
    return count < RIP_TRACEPOINT_COUNT_MAX ? 0 : -ENOSPC;
}

/* Adds `made` to the list and returns 0. If another thread has added this tracepoint first, returns as find(). */
static int publish(struct tracepoint *made, struct rip_tracepoint **ret_tracepoint)
{
    struct tracepoint *first = __atomic_load_n(&tracepoints, __ATOMIC_ACQUIRE); /* pairs with the exchange below */
    int result;

    do {
        result = find(first, made, ret_tracepoint);
        if (result != 0)
            return result;
        made->next = first;
    } while (!__atomic_compare_exchange_n(&tracepoints, &first, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
    *ret_tracepoint = &made->shown;
    return 0;
}

int rip_tracepoint_define(const char *provider, const char *name, const uint8_t *types, unsigned count,
                          struct rip_tracepoint **ret_tracepoint)
{
    struct tracepoint *made, wanted = {.count = count};
    void *loaded;
    int descriptor, result;

    if (!is_name(provider) || !is_name(name) || !are_types(types, count))
        return -EINVAL;
    if (MACHINE == EM_NONE)
        return -ENOTSUP;
    if (count != 0)
        memcpy(wanted.types, types, count);
    memcpy(wanted.provider, provider, strlen(provider));
    memcpy(wanted.name, name, strlen(name));
    result = find(__atomic_load_n(&tracepoints, __ATOMIC_ACQUIRE), &wanted, ret_tracepoint);
    if (result != 0)
        return result < 0 ? result : 0;
    made = malloc(sizeof(*made));
    if (made == NULL)
        return -ENOMEM;
    *made = wanted;
    result = load(made, &loaded, &descriptor);
    if (result == 0) {
        result = publish(made, ret_tracepoint);
        if (result == 0)
            return 0;
        dlclose(loaded);
        close(descriptor);
    }
    free(made);
    return result < 0 ? result : 0;
}
