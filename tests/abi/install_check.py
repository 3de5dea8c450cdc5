# SPDX-License-Identifier: Apache-2.0
"""cmake --install into a folder of its own; what it gives is there, and a program builds against it by pkg-config and
by find_package; rip finds the preload library and rip-client from there."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = sys.argv[1:3]


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
                    "lib*/**/librip.so.1", "lib*/**/librip.a", "lib*/**/librip-preload.so", "lib*/**/librip.pc",
                    "lib*/**/librip-config.cmake", "share/ripd/alerts.yml", "share/ripd/dashboard.json",
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


def build_by_pkg_config(prefix, folder):
    pc_file = glob.glob(f"{prefix}/lib*/**/librip.pc", recursive=True)[0]
    environment = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc_file)}
    flags = run(["pkg-config", "--cflags", "--libs", "librip"], env=environment).split()
    program = os.path.join(folder, "by-pkg-config")
    run(["cc", "-std=c11", "-D_GNU_SOURCE", os.path.join(SOURCE, "tests/abi/consumer.c"), "-o", program, "-pthread",
         *flags])
    run([program], env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(os.path.dirname(pc_file))})


def build_by_package(prefix, folder):
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(f"""cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(librip 1 REQUIRED)
find_package(Threads REQUIRED)
foreach(library rip rip_static)
  add_executable(with_${{library}} {SOURCE}/tests/abi/consumer.c)
  target_compile_definitions(with_${{library}} PRIVATE _GNU_SOURCE)
  target_link_libraries(with_${{library}} PRIVATE librip::${{library}} Threads::Threads)
endforeach()
""")
    run(["cmake", "-S", folder, "-B", f"{folder}/build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", f"{folder}/build"])
    for library in ("rip", "rip_static"):
        run([f"{folder}/build/with_{library}"])


def check_symbolizer_is_found(prefix, folder):
    """ripd says so where it is missing."""
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
        if "listening on" not in text or ("no ripd-symbolizer" in text) == there:
            print(f"FAILED: ripd {'finds no' if there else 'does not miss its'} symbolizer:\n{text}")
            sys.exit(1)
        if there:
            os.remove(f"{prefix}/libexec/ripd/ripd-symbolizer")


def check_rip(prefix):
    """`rip run` finds the preload library and loads no library but the C library; other commands are rip-client's."""
    rip = f"{prefix}/bin/rip"
    if run([rip, "run", "--dir", "/dev/shm", "--", "sh", "-c", "echo traced"]) != "traced\n":
        print("FAILED: rip run from the installed tree")
        sys.exit(1)
    needed = re.findall(r"NEEDED.*\[((?!ld-linux).*)\]", run(["readelf", "-d", rip]))
    if needed != ["libc.so.6"] or "--follow" not in run([rip, "events", "--help"]):
        print(f"FAILED: rip needs {needed}, or does not find rip-client")
        sys.exit(1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "prefix")
        run(["cmake", "--install", BUILD, "--prefix", prefix])
        check_files(prefix)
        check_configuration_is_kept(prefix)
        build_by_pkg_config(prefix, folder)
        build_by_package(prefix, folder)
        check_symbolizer_is_found(prefix, folder)
        check_rip(prefix)
    print("installed tree: 16 files, 2 ways to build, 1 traced program: all right")


main()
