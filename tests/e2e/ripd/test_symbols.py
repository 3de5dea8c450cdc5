# SPDX-License-Identifier: Apache-2.0
"""Function, file and line in one program that is built and stripped in many ways."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from symbols_kit import (Builder, command, expect, expect_all, line_of, location_of, named_location, need,  # noqa: E402
                         sh, start)
from world import Skip, lacking, run  # noqa: E402

# Each name and its compiler flags.
BUILDS = {
    "pie": ("-g", "-fPIE", "-pie"),
    "no-pie": ("-g", "-no-pie", "-fno-pie"),
    "static": ("-g", "-static", "-DWITHOUT_LIBRARIES"),
    "static-pie": ("-g", "-static-pie", "-fPIE", "-DWITHOUT_LIBRARIES"),
    "optimized": ("-g", "-O2"),
    "dwarf-4": ("-gdwarf-4", "-O2"),
    "dwarf-5": ("-gdwarf-5", "-O2"),
    "compressed": ("-g", "-gz=zlib"),
    "split": ("-g", "-gsplit-dwarf"),
    "split-4": ("-gdwarf-4", "-gsplit-dwarf"),
    "lto": ("-g", "-O2", "-flto", "-ffat-lto-objects"),
    "without-build-id": ("-g", "-Wl,--build-id=none"),
    "gold-sections": ("-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections"),
}


def builds(world):
    builder = Builder(world)
    for name, flags in BUILDS.items():
        start(world, builder.program(name, *flags))
    for name in BUILDS:
        expect_all(world, name)


def builds_by_clang(world):
    """clang writes no .debug_aranges, and numbers files from 0."""
    need("clang-14")
    builder = Builder(world)
    for name, flags in BUILDS.items():
        if name not in ("lto", "split-4"):
            start(world, builder.program(f"clang-{name}", *flags, compiler="clang-14"))
    for name in BUILDS:
        if name not in ("lto", "split-4"):
            expect_all(world, f"clang-{name}")


def stripped(world):
    """Only dynamic symbols, and no symbols at all."""
    builder = Builder(world)
    for name, flags in (("dynamic", ("-g", "-rdynamic")), ("bare", ("-g",))):
        path = builder.program(name, *flags)
        sh("strip", path)
        start(world, path)
    expect_all(world, "dynamic", lines=False)
    location = location_of(world, "bare")
    assert location["module"] == "bare" and location["offset"] and location["build_id"], location
    assert location["function"] is None and location["file"] is None and location["line"] is None, location


def mini_debug_information(world):
    """.gnu_debugdata, as in programs of Fedora."""
    need("xz")
    builder = Builder(world)
    path = builder.program("mini", "-g")
    symbols = builder.path("mini.symbols")
    sh("objcopy", "--only-keep-debug", path, symbols)
    sh("objcopy", "-S", "--keep-symbol=plain_work", "--keep-symbol=inlined_work", symbols)
    sh("strip", path)
    sh("xz", symbols)
    sh("objcopy", "--add-section", f".gnu_debugdata={symbols}.xz", path)
    start(world, path)
    expect_all(world, "mini", lines=False)


def separate(builder, name):
    path = builder.program(name, "-g")
    debug = f"{path}.debug"
    sh("objcopy", "--only-keep-debug", path, debug)
    return path, debug


def debug_files_beside(world):
    """Debug files found by .gnu_debuglink, beside the program and in .debug. A file of another program is not used."""
    builder = Builder(world)
    for name in ("beside", "hidden", "foreign"):
        path, debug = separate(builder, name)
        sh("strip", path)
        sh("objcopy", f"--add-gnu-debuglink={debug}", path)
        if name == "hidden":
            os.makedirs(builder.path(".debug"), exist_ok=True)
            shutil.move(debug, builder.path(".debug"))
        if name == "foreign":
            sh("objcopy", "--only-keep-debug", builder.program("other", "-g", "-O2"), debug)
        start(world, path)
    expect_all(world, "beside")
    expect_all(world, "hidden")
    assert location_of(world, "foreign")["function"] is None


def shared_debug_files(world):
    """dwz has moved common parts of two debug files to a third file, as in Debian's -dbgsym packages."""
    need("dwz")
    builder = Builder(world)
    programs = {}
    for name in ("dwz-one", "dwz-other"):
        programs[name] = separate(builder, name)
    alternative = builder.path("common.debug")
    sh("dwz", "-m", alternative, "-M", alternative, *(debug for _, debug in programs.values()))
    for path, debug in programs.values():
        assert ".gnu_debugaltlink" in sh("readelf", "-S", "-W", debug)
        sh("strip", path)
        sh("objcopy", f"--add-gnu-debuglink={debug}", path)
    start(world, programs["dwz-one"][0])
    expect_all(world, "dwz-one")
    with open(alternative, "rb") as file:
        data = file.read()
    build_id = bytes.fromhex(sh("readelf", "-n", alternative).split("Build ID: ")[1].split()[0])
    os.rename(alternative, f"{alternative}.kept")
    with open(alternative, "wb") as file: # of another build
        file.write(data.replace(build_id, bytes(len(build_id))).replace(b"plain_work", b"wrong_work"))
    start(world, programs["dwz-other"][0])
    expect_all(world, "dwz-other", lines=False)


def split_debug_files_of_another_build(world):
    builder = Builder(world)
    builder.program("first", "-g", "-gsplit-dwarf")  # not started, because ripd would cache its names by build id
    renamed_source(builder, "second", "-gsplit-dwarf")
    files = {name: builder.path(f"{name}-target.dwo") for name in ("first", "second")}
    program = builder.path("again")
    shutil.copy(builder.path("first"), program)
    os.rename(files["second"], files["first"])
    start(world, program)
    expect_all(world, "again", lines=False) # the line table is still in the program, but covers only rip_snap()


def debug_files_by_build_id(world):
    if os.getuid() != 0:
        raise Skip("only root can write where debug packages are installed")
    builder = Builder(world)
    path, debug = separate(builder, "packaged")
    sh("strip", path)
    notes = sh("readelf", "-n", path)
    build_id = notes.split("Build ID: ")[1].split()[0]
    folder = f"/usr/lib/debug/.build-id/{build_id[:2]}"
    made = not os.path.exists(folder)
    os.makedirs(folder, exist_ok=True)
    target = f"{folder}/{build_id[2:]}.debug"
    try:
        shutil.move(debug, target) # ripd also tries a file of that name beside the program
        start(world, path)
        expect_all(world, "packaged")
    finally:
        os.remove(target)
        if made:
            os.rmdir(folder)


def loaded_later(world):
    """A library that is loaded after the threads started, stays loaded after its file was deleted, and is replaced by
    another file."""
    builder = Builder(world)
    process = start(world, builder.program("app", "-g", "-rdynamic"))
    library = builder.shared("library.so", "-g")
    command(process, f"load {library}")
    expect(world, "app", 3, "library_work")
    assert location_of(world, "app", 3)["module"] == "library.so"


def renamed_source(builder, name, *flags):
    """Builds the same program with other names at the same addresses."""
    return builder.program(name, "-g", "-Dplain_work=wrong_work", "-Dinlined_work=wrong_other", *flags)


def replaced(world):
    """A package is upgraded while its program runs: names come from the old file or not at all, never from the new
    file."""
    builder = Builder(world)
    for name in ("upgraded", "overwritten-no-id"):
        flags = ("-Wl,--build-id=none",) if "no-id" in name else ()
        path = builder.program(name, "-g", *flags)
        start(world, path)
        os.rename(renamed_source(builder, "new", *flags), path)
    for name in ("upgraded", "overwritten-no-id"):
        expect_all(world, name)


def deleted(world):
    builder = Builder(world)
    for name in ("gone", "gone-no-id"):
        path = builder.program(name, "-g", "-rdynamic", *(("-Wl,--build-id=none",) if "no-id" in name else ()))
        process = start(world, path)
        if name == "gone":
            library = builder.shared("gone.so", "-g")
            command(process, f"load {library}")
            os.remove(library)
        os.remove(path)
    expect_all(world, "gone")
    expect_all(world, "gone-no-id")
    if not lacking("sys_admin"): # a deleted library can be opened only through map_files
        expect(world, "gone", 3, "library_work")


def other_roots(world):
    """Files of a container: another root, and a mount namespace with another file at the same path."""
    if os.getuid() != 0:
        raise Skip("only root can change roots")
    builder = Builder(world)
    path = builder.program("inside", "-g", "-static", "-DWITHOUT_LIBRARIES")
    root = builder.path("root")
    os.makedirs(f"{root}/app")
    shutil.move(path, f"{root}/app/inside")
    shutil.copy(renamed_source(builder, "wrong", "-static", "-DWITHOUT_LIBRARIES"), path)
    os.makedirs(f"{root}{world.dir}")
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        raise Skip("mount namespaces are not permitted")
    os.makedirs(f"{root}/proc")
    script = (f"mount -t proc proc {root}/proc && mount --bind {world.dir} {root}{world.dir} && "
              f"exec chroot {root} /app/inside {world.ring('inside')}")
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    world.processes.append(process)
    assert process.stdout.readline() == "ready\n"
    expect_all(world, "inside")


def names_of_c_plus_plus(world):
    builder = Builder(world)
    start(world, builder.program("cxx", "-g", compiler="g++", source="target.cc"))
    path = builder.program("cxx-stripped", "-g", compiler="g++", source="target.cc")
    sh("strip", "--strip-debug", path)
    start(world, path)
    name = "store::Table<int>::scan(int)"
    expect(world, "cxx", 1, name)
    expect(world, "cxx-stripped", 1, name, lines=False)
    name = "store::(anonymous namespace)::sweep"  # gcc's debug information calls the function "sweep"
    expect(world, "cxx", 2, name)
    expect(world, "cxx-stripped", 2, f"{name}()", lines=False)
    expect(world, "cxx", 3, "store::serve()")
    expect(world, "cxx", 4, "visit::operator()")
    start(world, builder.program("cxx-fast", "-g", "-O2", compiler="g++", source="target.cc"))
    frames = named_location(world, "cxx-fast", 3)
    assert frames["function"] == "store::serve()" and "rip.hpp" not in str(frames), frames


def names_of_rust(world):
    need("rustc")
    builder = Builder(world)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "symbols", "target.rs")
    # Without strip, which keeps the build id: of two files with one build id, the first one to be looked up counts.
    for name, *flags in (("v0",), ("v0-stripped", "-C", "strip=debuginfo"), ("legacy",),
                         ("legacy-stripped", "-C", "strip=debuginfo")):
        result = subprocess.run(["rustc", "-g", source, "-o", builder.path(name), "-Z", "unstable-options", "-C",
                                 f"link-args={builder.librip()} -lc", "-C",
                                 f"symbol-mangling-version={name.split('-')[0]}", *flags],
                                env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True,
                                check=False)
        if result.returncode != 0:
            raise Skip(f"rustc cannot build it: {result.stderr[-200:]}")
        start(world, builder.path(name))
    for style in ("v0", "legacy"):
        stripped = named_location(world, f"{style}-stripped")
        assert "scan" in stripped["function"] and "Table" in stripped["function"], stripped
        assert "_R" not in stripped["function"] and "::h" not in stripped["function"], stripped
        location = named_location(world, style)
        assert "scan" in location["function"] and "Table" in location["function"], location
        assert "_R" not in location["function"] and "::h" not in location["function"], location
        assert (os.path.basename(location["file"]), location["line"]) == line_of("store::Table<T>::scan"), location


def paths_of_sources(world):
    """Relative paths stay relative, except those that begin above the folder of the compiler."""
    builder = Builder(world)
    sources = builder.path("src")
    shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "symbols"), f"{sources}/symbols")
    os.makedirs(f"{sources}/build/deep")
    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "include")
    expected = {}
    for dwarf in (4, 5):
        for compiler in ("gcc", "clang-14"):
            if shutil.which(compiler) is None:
                continue
            for name, folder, source, wanted in (
                    ("plain", sources, "symbols/target.c", "symbols/target.c"),
                    ("above", f"{sources}/build/deep", "../../symbols/target.c", f"{sources}/symbols/target.c"),
                    ("dotted", sources, "./symbols/../symbols/target.c", "symbols/target.c"),
                    ("whole", sources, f"{sources}/symbols/../symbols/target.c", f"{sources}/symbols/target.c")):
                path = builder.path(f"{name}-{dwarf}-{compiler}")
                other = wanted # clang also records absolute paths for these
                if compiler != "gcc":
                    other = os.path.relpath(wanted, sources) if name == "whole" else os.path.join(sources, wanted)
                sh(compiler, f"-I{os.path.abspath(include)}", f"-gdwarf-{dwarf}", "-O1", "-D_GNU_SOURCE",
                   f'-DPROGRAM_NAME="{path}"', source, builder.librip(), "-o", path, "-pthread", cwd=folder)
                start(world, path)
                expected[os.path.basename(path)] = (wanted, other)
    for name, files in expected.items():
        location = expect(world, name, 1, "plain_work")
        assert location["file"] in files, f"{name}: {location}"


if __name__ == "__main__":
    run([builds, builds_by_clang, stripped, mini_debug_information, debug_files_beside, shared_debug_files,
         split_debug_files_of_another_build, debug_files_by_build_id, loaded_later, replaced, deleted, other_roots,
         names_of_c_plus_plus, names_of_rust, paths_of_sources])
