# SPDX-License-Identifier: Apache-2.0
"""consumer.c compiles in every supported way, runs, and all its checks pass. The exported symbols, the size of the
inlined snap, and its thread-local accesses are as expected."""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, INCLUDE, LIB, VERSION, SANITIZED = sys.argv[1:6]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
COMPILERS = {"gcc": ("c", "-std=c11"), "clang": ("c", "-std=c11"), "g++": ("c++", "-std=c++17"),
             "clang++": ("c++", "-std=c++17")}
SNAP_BYTES_MAX = 72
ran = failed = 0


def find(name):
    return shutil.which(name) or shutil.which(name.replace("clang", "clang-14") if name == "clang" else
                                              name.replace("clang++", "clang++-14"))


def report(what, good, text=""):
    global ran, failed
    ran += 1
    failed += not good
    if not good:
        print(f"FAILED {what}\n{text}")


def run(argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **options)


def one(folder, compiler, how):
    language, standard = COMPILERS[compiler]
    linkage, own, hidden, level, pie = how
    what = " ".join([compiler, linkage, "own globals" if own else "library's globals",
                     "-fvisibility=hidden" if hidden else "", level, pie])
    program = os.path.join(folder, "consumer")
    argv = [find(compiler), "-x", language, standard, "-D_GNU_SOURCE", *WARNINGS, level, pie, f"-I{INCLUDE}",
            *(["-DOWN_GLOBALS"] if own else []), *(["-fvisibility=hidden"] if hidden else []),
            os.path.join(SOURCE, "consumer.c"), "-x", "none", "-o", program]
    argv += [f"{LIB}/librip.a"] if linkage == "static" else [f"-L{LIB}", "-lrip", f"-Wl,-rpath,{LIB}"]
    argv += ["-pthread", *(["-no-pie"] if pie == "-fno-pie" else ["-pie"])]
    built = run(argv)
    if built.returncode != 0:
        report(what, False, built.stderr)
        return
    result = run([program])
    report(what, result.returncode == 0, result.stdout + result.stderr)


def matrix(folder):
    """Each compiler gets a quarter of all combinations that contains every pair of two choices; together all."""
    choices = ("static", "shared"), (False, True), (False, True), ("-O0", "-O2"), ("-fPIE", "-fno-pie")
    for number, compiler in enumerate(COMPILERS):
        if not find(compiler):
            print(f"skipped {compiler}: not installed")
            continue
        for how in itertools.product(*choices):
            a, b, c, d, e = map(tuple.index, choices, how)
            if ((a + b + c) % 2, (c + d + e) % 2) == divmod(number, 2):
                one(folder, compiler, how)


def headers_are_silent(folder):
    """The headers compile with warnings that only consumers use, and as later languages."""
    source = os.path.join(folder, "silent")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <librip.h>\n#include <rip/session.h>\nvoid all(struct rip_context *a);\n"
                   "void all(struct rip_context *a) { rip_snap(); rip_idle(); rip_switch(a, a); rip_wait_end(); "
                   "rip_deadline_ms(1); rip_note(\"\", 0); rip_flush(); }\n")
    common = ["-Wpedantic", "-Wsign-conversion", "-Wundef", "-Wcast-qual", "-Wcast-align", "-Wredundant-decls"]
    extra = {"gcc": ["-Wc++-compat", "-Wstrict-prototypes", "-Wbad-function-cast"], "clang": ["-Wstrict-prototypes"],
             "g++": ["-Wold-style-cast", "-Wuseless-cast", "-Wzero-as-null-pointer-constant"],
             "clang++": ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]}
    for compiler in filter(find, COMPILERS):
        language = COMPILERS[compiler][0]
        for standard in ("c11", "c2x") if language == "c" else ("c++17", "c++20"):
            built = run([find(compiler), "-x", language, f"-std={standard}", "-O2", *WARNINGS, *common,
                         *extra[compiler], f"-I{INCLUDE}", "-c", source, "-o", os.devnull])
            report(f"{compiler} {standard}: no warning from the headers", built.returncode == 0, built.stderr)


# One object of each class, and the scheduler for Boost.Fiber if that is installed.
SCOPES = """#include <rip/rip.hpp>
#if __has_include(<boost/fiber/algo/algorithm.hpp>)
#include <rip/boost_fiber.hpp>
template class rip::fiber_scheduler<>;
#endif
void all(const std::atomic<std::uint32_t> &owner);
void all(const std::atomic<std::uint32_t> &owner)
{
    rip::thread traced("main");
    rip::note request("GET /");
    rip::idle waiting;
    rip::wait lock(&owner, owner);
    rip::coroutine one(100, "one"), other(std::move(one)), place;
    rip::running now(other);
    switch_over(place, other);
    lock.look();
    request.change("GET /2");
}
"""


def scopes_are_silent(folder):
    source = os.path.join(folder, "scopes.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SCOPES)
    for compiler in filter(find, ("g++", "clang++")):
        for standard in ("c++17", "c++20"):
            built = run([find(compiler), f"-std={standard}", "-O2", *WARNINGS, "-Wpedantic", "-Wsign-conversion",
                         "-Wold-style-cast", f"-I{INCLUDE}", "-c", source, "-o", os.devnull])
            report(f"{compiler} {standard}: no warning from rip.hpp", built.returncode == 0, built.stderr)
            code = source.replace("scopes", "discarded")
            with open(code, "w", encoding="utf-8") as file:
                file.write("#include <rip/rip.hpp>\nvoid f();\nvoid f() { rip::idle(); }\n")
            built = run([find(compiler), f"-std={standard}", f"-I{INCLUDE}", "-Werror", "-c", code, "-o", os.devnull])
            report(f"{compiler} {standard}: a scope without a name is a warning", built.returncode != 0)


def plugin_with_its_own_copy(folder):
    """A plugin is unloaded while a thread has its id: the end of the thread must not call unmapped code."""
    plugin, host = os.path.join(folder, "plugin.so"), os.path.join(folder, "host")
    compile_it = ["gcc", "-D_GNU_SOURCE", "-pthread", *WARNINGS, f"-I{INCLUDE}", os.path.join(SOURCE, "plugin.c")]
    built = [run(compile_it + rest) for rest in
             (["-DPLUGIN", "-fPIC", "-shared", f"{LIB}/librip.a", "-o", plugin], ["-o", host])]
    report("plugin compiles", all(one.returncode == 0 for one in built), "".join(one.stderr for one in built))
    result = run([host, plugin])
    report("plugin with its own copy can be unloaded", result.returncode == 0, f"{result.returncode} {result.stdout}")


LIBRARIES = {"librip": "librip.map", "librip-session": "session/librip-session.map",
             "librip-compiled": "auto/compiled.map"}


def exported_symbols(library):
    """Each library exports the symbols that its version script lists, each with the version of its node."""
    with open(os.path.join(SOURCE, "../../librip", LIBRARIES[library]), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    wanted = {f"{name}@@{node}" for node, body in re.findall(r"(\S+) \{(.*?)\}", text, re.S)
              for name in re.findall(r"[^\s;]+", body.partition("global:")[2].partition("local:")[0])}
    report(f"{library}: symbols are listed one by one", wanted and not any("*" in name for name in wanted), wanted)
    lines = run(["nm", "-D", "--defined-only", "--with-symbol-versions", f"{LIB}/{library}.so"]).stdout.splitlines()
    found = {line.split()[-1] for line in lines if " A " not in line}
    report(f"{library}: exported symbols", found == wanted, f"only exported: {found - wanted}\n"
                                                            f"missing: {wanted - found}")


def name_of_library(library, version):
    """SONAME and file name follow the project's version."""
    soname = re.search(r"SONAME +(\S+)", run(["objdump", "-p", f"{LIB}/{library}.so"]).stdout).group(1)
    report(f"SONAME {soname}", soname == f"{library}.so.{version.split('.')[0]}")
    real = os.path.basename(os.path.realpath(f"{LIB}/{library}.so"))
    report(f"file name {real}", real == f"{library}.so.{version}")


def size_of_snap(folder):
    source, output = os.path.join(folder, "size.c"), os.path.join(folder, "size.o")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <librip.h>\nvoid with(void);\nvoid without(void);\n"
                   "void with(void) { rip_snap(); }\nvoid without(void) {}\n")
    for compiler, pic in itertools.product(("gcc", "clang"), ("-fPIE", "-fPIC", "-fno-pie")):
        if not find(compiler):
            continue
        built = run([find(compiler), "-std=c11", "-O2", pic, "-fcf-protection=none", f"-I{INCLUDE}", "-c", source,
                     "-o", output])
        report(f"{compiler} {pic} compiles", built.returncode == 0, built.stderr)
        sizes = dict((name, int(size, 16)) for size, name in
                     re.findall(r"^\S+ (\S+) T (\w+)$", run(["nm", "-S", output]).stdout, re.M))
        size = sizes["with"] - sizes["without"]
        report(f"{compiler} {pic}: the inlined snap has {size} bytes", size <= SNAP_BYTES_MAX)
        code = run(["objdump", "-dr", output]).stdout
        report(f"{compiler} {pic}: no call, no lock",
               not re.search(r"\bcall|\block\b|__tls_get_addr|TLSGD|TLSLD", code), code)


def switch_without_atomics(folder):
    """An inlined switch between coroutines contains no atomic read-modify-write operation."""
    source, output = os.path.join(folder, "switch.c"), os.path.join(folder, "switch.o")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <librip.h>\nvoid turn(struct rip_context *a, const struct rip_context *b);\n"
                   "void turn(struct rip_context *a, const struct rip_context *b) { rip_switch(a, b); }\n")
    for compiler, pic in itertools.product(filter(find, ("gcc", "clang")), ("-fPIE", "-fPIC")):
        built = run([find(compiler), "-std=c11", "-O2", pic, f"-I{INCLUDE}", "-c", source, "-o", output])
        report(f"{compiler} {pic} compiles", built.returncode == 0, built.stderr)
        code = run(["objdump", "-dr", output]).stdout
        report(f"{compiler} {pic}: a switch without atomics", "<turn>" in code and
               not re.search(r"\block\b|\bxchg|fence\b|__tls_get_addr|TLSGD|TLSLD", code), code)


def main():
    with tempfile.TemporaryDirectory() as folder:
        matrix(folder)
        headers_are_silent(folder)
        scopes_are_silent(folder)
        if not SANITIZED:
            plugin_with_its_own_copy(folder)
        for library in LIBRARIES:
            exported_symbols(library)
            name_of_library(library, VERSION)
        if os.uname().machine == "x86_64":
            size_of_snap(folder)
            switch_without_atomics(folder)
    print(f"{ran} checks, {failed} failed")
    sys.exit(1 if failed or ran < 20 else 0)


main()
