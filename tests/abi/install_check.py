# SPDX-License-Identifier: Apache-2.0
"""cmake --install into a new folder installs all files. Programs and tools build against them with pkg-config and with
find_package, and rip finds the installed preload library and rip-client."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = sys.argv[1:3]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]


def run(argv, **options):
    result = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **options)
    if result.returncode != 0:
        print(f"FAILED {' '.join(argv)}: status {result.returncode}\n{result.stdout}{result.stderr}")
        sys.exit(1)
    return result.stdout


def check_files(prefix):
    for pattern in ("bin/rip", "sbin/ripd", "libexec/ripd/ripd-symbolizer", "libexec/ripd/ripd-probe",
                    "libexec/rip/rip-client", "include/librip.h", "include/rip/rip.h",
                    "include/rip/reader.h",
                    "include/rip/rip.hpp", "include/rip/boost_fiber.hpp",
                    "lib*/**/librip.so.1", "lib*/**/librip.a", "lib*/**/librip-preload.so", "lib*/**/librip.pc",
                    "lib*/**/librip-config.cmake",
                    "lib*/**/librip-compiled.so.1", "lib*/**/librip-compiled.a", "lib*/**/librip-compiled.pc",
                    "include/rip/session.h", "lib*/**/librip-session.so.1",
                    "lib*/**/librip-session.a", "lib*/**/librip-session.pc", "lib*/**/librip-session-config.cmake",
                    "share/ripd/alerts.yml", "share/ripd/dashboard.json",
                    "share/ripd/ripd.json",
                    "share/bash-completion/completions/ripd", "share/zsh/site-functions/_rip",
                    "share/fish/vendor_completions.d/rip.fish"):
        if not glob.glob(os.path.join(prefix, pattern), recursive=True):
            print(f"FAILED: {pattern} is not installed")
            sys.exit(1)


def check_configuration_is_kept(prefix):
    path = os.path.join(prefix, "etc/ripd/ripd.conf")
    with open(path, "a", encoding="utf-8") as file:
        file.write("interval = 2s\n")
    run(["cmake", "--install", BUILD, "--prefix", prefix])
    with open(path, encoding="utf-8") as file:
        if "interval = 2s" not in file.read():
            print("FAILED: an edited configuration was replaced")
            sys.exit(1)


COMPILERS = {"cc": ["-std=c11"], "c++": ["-x", "c++", "-std=c++17"]}


def build_by_pkg_config(prefix, folder, library, source):
    """As C and as C++. Returns the programs and the folder of the libraries."""
    pc_file = glob.glob(f"{prefix}/lib*/**/{library}.pc", recursive=True)[0]
    libraries = os.path.dirname(os.path.dirname(pc_file))
    environment = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc_file)}
    flags = run(["pkg-config", "--cflags", "--libs", library], env=environment).split()
    for compiler, language in COMPILERS.items():
        program = os.path.join(folder, f"{library}-{compiler}")
        run([compiler, *language, "-D_GNU_SOURCE", *WARNINGS, os.path.join(SOURCE, source), "-x", "none", "-o", program,
             "-pthread", *flags])
        yield [program], {"LD_LIBRARY_PATH": libraries}


def build_by_package(prefix, folder, package, source):
    """Shared and static, as C and as C++."""
    names = {"librip": ("rip", "rip_static", "compiled", "compiled_static"),
             "librip-session": ("session", "session_static")}[package]
    tree = os.path.join(folder, f"cmake-{package}")
    os.mkdir(tree)
    for suffix in ("c", "cc"):
        shutil.copy(os.path.join(SOURCE, source), f"{tree}/consumer.{suffix}")
    with open(os.path.join(tree, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(f"""cmake_minimum_required(VERSION 3.25)
project(consumer C CXX)
find_package({package} 1 REQUIRED)
find_package(Threads REQUIRED)
foreach(library {" ".join(names)})
  foreach(suffix c cc)
    add_executable(with_${{library}}_${{suffix}} consumer.${{suffix}})
    target_compile_definitions(with_${{library}}_${{suffix}} PRIVATE _GNU_SOURCE)
    target_link_libraries(with_${{library}}_${{suffix}} PRIVATE librip::${{library}} Threads::Threads)
  endforeach()
endforeach()
""")
    run(["cmake", "-S", tree, "-B", f"{tree}/build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", f"{tree}/build"])
    for library in names:
        for suffix in ("c", "cc"):
            yield [f"{tree}/build/with_{library}_{suffix}"], {}


def build_and_run(prefix, folder):
    for library, source, arguments in (("librip", "tests/abi/consumer.c", []),
                                       ("librip-session", "tests/abi/session_consumer.c", [folder])):
        for build in (build_by_pkg_config, build_by_package):
            for program, environment in build(prefix, folder, library, source):
                run([*program, *arguments], env={**os.environ, **environment})
    library = glob.glob(f"{prefix}/lib*/**/librip-session.so.1", recursive=True)[0]
    needed = set(re.findall(r"NEEDED.*\[((?!ld-linux).*)\]", run(["readelf", "-d", library])))
    if needed != {"libc.so.6", "libzstd.so.1", "libjansson.so.4"}:
        print(f"FAILED: librip-session needs {needed}")
        sys.exit(1)


def check_compiled_in(prefix, folder):
    """A program compiled with librip-compiled, shared, static or both, has a ring while it runs."""
    source, program = os.path.join(folder, "traced.c"), os.path.join(folder, "traced")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <rip/rip.h>\n#include <stdlib.h>\n'
                   'int main(void) { rip_snap(); return system("ls $RIP_DIR"); }\n')
    pc_file = glob.glob(f"{prefix}/lib*/**/librip-compiled.pc", recursive=True)[0]
    libraries = os.path.dirname(os.path.dirname(pc_file))
    flags = run(["pkg-config", "--cflags", "--libs", "librip-compiled"],
                env={**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc_file)}).split()
    for static in (), ("rip",), ("rip-compiled",), ("rip-compiled", "rip"):
        how = flags
        for name in static:
            how = [f"{libraries}/lib{name}.a" if flag == f"-l{name}" else flag for flag in how]
        run(["cc", *WARNINGS, "-finstrument-functions", source, "-o", program, "-pthread",
             f"-Wl,-rpath-link,{libraries}", *how])
        with tempfile.TemporaryDirectory(dir="/dev/shm") as rings:
            kept = {key: value for key, value in os.environ.items() if not key.startswith("RIP_")}
            seen = run([program], env={**kept, "LD_LIBRARY_PATH": libraries, "RIP_DIR": rings})
            if not re.fullmatch(r"traced\.\d+\n", seen) or os.listdir(rings):
                print(f"FAILED: {how}: rings {seen!r} while it ran, {os.listdir(rings)} afterwards")
                sys.exit(1)


def check_symbolizer_is_found(prefix, folder):
    """ripd reports a missing symbolizer."""
    for there in (True, False):
        log = os.path.join(folder, "ripd.log")
        with open(log, "wb") as file:
            ripd = subprocess.Popen([f"{prefix}/sbin/ripd", "--listen", "127.0.0.1:0", "--dir", folder], stderr=file)
        try:
            for _ in range(600):
                with open(log, encoding="utf-8") as file:
                    text = file.read()
                if "listening on" in text or ripd.poll() is not None:
                    break
                time.sleep(0.05)
        finally:
            ripd.terminate()
            ripd.wait()
        if "listening on" not in text or ("ripd-symbolizer not found" in text) == there:
            print(f"FAILED: ripd {'finds no' if there else 'does not miss its'} symbolizer:\n{text}")
            sys.exit(1)
        if there:
            os.remove(f"{prefix}/libexec/ripd/ripd-symbolizer")


def check_rip(prefix):
    """`rip run` finds the preload library and loads no library but the C library; rip-client runs the others."""
    rip = f"{prefix}/bin/rip"
    if run([rip, "run", "--dir", "/dev/shm", "--", "sh", "-c", "echo traced"]) != "traced\n":
        print("FAILED: rip run from the installed tree")
        sys.exit(1)
    needed = re.findall(r"NEEDED.*\[((?!ld-linux).*)\]", run(["readelf", "-d", rip]))
    if needed != ["libc.so.6"] or "--follow" not in run([rip, "events", "--help"]):
        print(f"FAILED: rip links {needed}, or does not find rip-client")
        sys.exit(1)


def check_ruby(prefix):
    """Ruby can require the binding from the installed tree, if the build has one."""
    libraries = glob.glob(f"{prefix}/lib*/**/ruby/vendor_ruby/3.1.0/rip/rip.so", recursive=True)
    if not libraries:
        if os.path.exists(f"{BUILD}/lib/ruby/rip/rip.so"):
            print("FAILED: the binding for Ruby is not installed")
            sys.exit(1)
        return
    folders = [f"{prefix}/lib/ruby/vendor_ruby", os.path.dirname(os.path.dirname(libraries[0]))]
    library = glob.glob(f"{prefix}/lib*/**/librip.so.1", recursive=True)[0]
    script = "require 'rip'; puts Rip::Rack.new(proc { |env| env.size }).call({}), $LOADED_FEATURES.grep(/rip/)"
    output = run(["/usr/bin/ruby3.1", "-e", script],
               env={**os.environ, "RUBYLIB": ":".join(folders), "LD_LIBRARY_PATH": os.path.dirname(library)})
    if output.split() != ["0", libraries[0], f"{folders[0]}/rip.rb"]:
        print(f"FAILED: require \"rip\" gives {output}")
        sys.exit(1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "prefix")
        run(["cmake", "--install", BUILD, "--prefix", prefix])
        check_files(prefix)
        check_configuration_is_kept(prefix)
        build_and_run(prefix, folder)
        check_compiled_in(prefix, folder)
        check_symbolizer_is_found(prefix, folder)
        check_rip(prefix)
        check_ruby(prefix)
    print("installed tree: its files, the libraries built against in each way, a traced program: all right")


main()
