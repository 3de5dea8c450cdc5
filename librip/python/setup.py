# SPDX-License-Identifier: Apache-2.0
"""Builds package rip from source, with an installed librip (librip.pc):  pip install --no-build-isolation ."""
import glob
import subprocess
import sys

from setuptools import Extension, setup

if sys.version_info[:2] != (3, 11):
    sys.exit("rip: this binding is for Python 3.11")


def pkg_config(what):
    return subprocess.run(["pkg-config", what, "librip"], check=True, capture_output=True, text=True).stdout.split()


setup(
    name="rip",
    version=pkg_config("--modversion")[0],
    description="Shows which thread or task of a Python program is stuck, and where",
    license="Apache-2.0",
    python_requires="==3.11.*",
    packages=["rip"],
    package_data={"rip": ["py.typed"]},
    ext_modules=[Extension("rip._rip", sorted(glob.glob("*.c")), define_macros=[("_GNU_SOURCE", None)],
                           extra_compile_args=[*pkg_config("--cflags"), "-std=gnu17", "-fvisibility=hidden"],
                           extra_link_args=pkg_config("--libs"))],
)
