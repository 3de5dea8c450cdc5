# SPDX-License-Identifier: Apache-2.0
"""The installed units alone: systemd-analyze finds no errors, the exposure is at most 1.0, settings that would blind
ripd are off, and paths have the right prefix.  test_units.py BUILD"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

EXPOSURE_MAX = 10  # in tenths
# Required values in ripd.service: with other values ripd could not see rings or the processes in them.
BLINDING = {"ProtectProc": "default", "ProcSubset": "all", "PrivateUsers": "no", "DynamicUser": "no",
            "PrivateTmp": "no"}
MUST = {"Type": "notify", "PrivateNetwork": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
        "NoNewPrivileges": "yes", "Requires": "ripd.socket", "StateDirectory": "ripd"}
EXAMPLES = {"redis-server.service": "redis-server.service.d", "nginx.service": "nginx.service.d"}


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def run(argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **options)


def settings(path):
    """Returns the last value of each setting."""
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r"^([A-Za-z]+)=(.*)$", file.read(), re.M))


def check_settings(unit, prefix):
    found = settings(unit)
    for name, value in MUST.items():
        if found.get(name) != value:
            fail(f"{name}={found.get(name)}, expected {value}")
    for name, value in BLINDING.items():
        if found.get(name, value) != value:
            fail(f"{name}={found[name]} blinds ripd")
    if not os.access(found["ExecStart"].split()[0], os.X_OK) or not found["ExecStart"].startswith(prefix):
        fail(f"ExecStart={found['ExecStart']} is not below {prefix}")


def check_directories(prefix):
    with open(f"{prefix}/lib/tmpfiles.d/ripd.conf", encoding="utf-8") as file:
        if "\nd /run/librip 3777 root ripd" not in file.read():
            fail("tmpfiles.d: /run/librip is not made as it has to be")
    result = run(["systemd-sysusers", "--dry-run", f"{prefix}/lib/sysusers.d/ripd.conf"])
    if result.returncode != 0 or "not a valid" in result.stderr:
        fail(f"systemd-sysusers: {result.stderr}")


def verify(units, environment):
    result = run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units], env=environment)
    said = result.stdout + result.stderr
    if result.returncode != 0 or said.strip():
        fail(f"systemd-analyze verify: status {result.returncode}: {said}")


def check_examples(prefix, folder, environment):
    """Checks each drop-in at the place that its first lines describe: beside Debian's unit."""
    count = 0
    for unit, example in EXAMPLES.items():
        source = f"{prefix}/share/doc/librip/systemd/{example}/librip.conf"
        library = re.search(r"^Environment=LD_PRELOAD=(.*)$", open(source, encoding="utf-8").read(), re.M)
        if library is None or not os.access(library.group(1), os.R_OK):
            fail(f"{source} does not name the library")
        place = run(["systemctl", "cat", unit]).returncode == 0 or os.path.exists(f"/lib/systemd/system/{unit}")
        if not place:
            print(f"{unit} is not installed: its drop-in is not verified")
            continue
        os.makedirs(f"{folder}/{unit}.d")
        shutil.copy(source, f"{folder}/{unit}.d/")
        verify([unit], environment)
        count += 1
    return count


def check_evidence(prefix, folder, service, environment):
    """Checks the drop-in for ripd itself and the exposure with it. It gives only the two capabilities."""
    source = f"{prefix}/share/doc/librip/systemd/ripd.service.d/evidence.conf"
    given = settings(source)
    capabilities = {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"}
    if not all(set(given[name].split()) == capabilities for name in ("CapabilityBoundingSet", "AmbientCapabilities")) \
            or set(given) != {"CapabilityBoundingSet", "AmbientCapabilities", "SystemCallFilter"}:
        fail(f"{source}: {given}")
    os.makedirs(f"{folder}/ripd.service.d")
    shutil.copy(source, f"{folder}/ripd.service.d/")
    verify([service], environment)
    os.remove(f"{folder}/ripd.service.d/evidence.conf")


def main():
    if shutil.which("systemd-analyze") is None:
        print("skipped: systemd-analyze is not installed (Debian package systemd)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/usr"
        result = run(["cmake", "--install", sys.argv[1], "--prefix", prefix])
        if result.returncode != 0:
            fail(f"cmake --install: {result.stdout}{result.stderr}")
        units = sorted(glob.glob(f"{prefix}/lib/systemd/system/*"))
        if [os.path.basename(unit) for unit in units] != ["rip-events@.service", "ripd-diag.socket", "ripd.service",
                                                            "ripd.socket"]:
            fail(f"installed units: {units}")
        etc = f"{folder}/etc/systemd/system"
        environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{etc}:{prefix}/lib/systemd/system:"}
        service = units[2]
        check_settings(service, prefix)
        check_directories(prefix)
        verify(units, environment)
        result = run(["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager",
                      service])
        exposure = re.search(r"Overall exposure level .*: ([\d.]+)", result.stdout)
        if result.returncode != 0 or exposure is None:
            fail(f"systemd-analyze security: {result.stdout}{result.stderr}")
        check_evidence(prefix, etc, service, environment)
        examples = check_examples(prefix, etc, environment)
    print(f"units: {len(units)} verified, exposure {exposure.group(1)}, {examples} drop-ins verified")


main()
