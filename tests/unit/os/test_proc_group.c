/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proc_group.c - units and containers from lines of PID/cgroup: ripd/os/proc_group.c. Each text is parsed whole,
 * and cut at each place, with no readable memory behind its terminator.
 */
#include <string.h>

#include "os/proc_group.h"
#include "support/guarded_copy.h"
#include "support/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define NAME_64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_"
#define NAME_256 NAME_64 NAME_64 NAME_64 NAME_64

static const struct {
    const char *text;
    const char *unit;
    const char *container;
} cases[] = {
    /* version 2 */
    {"0::/system.slice/checkout.service\n", "checkout.service", ""},
    {"0::/system.slice/checkout.service", "checkout.service", ""},
    {"0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service", ""},
    {"0::/system.slice/dev\\x2dmaker.service\n", "dev\\x2dmaker.service", ""},
    {"0::/user.slice/user-1000.slice/session-2.scope\n", "session-2.scope", ""},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service\n", "editor.service", ""},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.slice/run-r1.scope\n", "run-r1.scope", ""},
    {"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", "user@1000.service", ""},
    {"0::/init.scope\n", "init.scope", ""},
    {"0::/system.slice/checkout.service/workers/7\n", "checkout.service", ""}, /* a delegated cgroup */
    {"0::/system.slice/_cgroup.service\n", "cgroup.service", ""},
    {"0::/system.slice/checkout.service (deleted)\n", "checkout.service", ""},
    {"0::/../../system.slice/checkout.service\n", "checkout.service", ""}, /* from another cgroup namespace */
    {"0::/\n", "", ""},
    {"0::/system.slice\n", "", ""},
    {"0::/system.slice/.service\n", "", ""},
    {"0::/system.slice/checkout.services\n", "", ""},
    /* version 1, and both */
    {"5:cpu,cpuacct:/system.slice/checkout.service\n1:name=systemd:/system.slice/checkout.service\n",
     "checkout.service", ""},
    {"4:pids:/system.slice/other.service\n1:name=systemd:/system.slice/checkout.service\n0::/system.slice/"
     "third.service\n",
     "checkout.service", ""},
    {"4:pids:/system.slice/other.service\n0::/system.slice/third.service\n", "third.service", ""},
    {"4:pids:/system.slice/other.service\n1:name=systemd:/\n0::/\n", "other.service", ""},
    /* containers, with and without systemd */
    {"0::/system.slice/docker-" ID ".scope\n", "docker-" ID ".scope", ID},
    {"0::/docker/" ID "\n", "", ID},
    {"11:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/\n", "", ID},
    {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7.slice/cri-containerd-" ID ".scope\n",
     "cri-containerd-" ID ".scope", ID},
    {"0::/kubepods/burstable/pod7b0e8c0c-4f0e-4b1d-9c35-0d3f8f3f0a11/" ID "\n", "", ID},
    {"0::/system.slice/containerd.service/kubepods-burstable-pod7.slice:cri-containerd:" ID "\n", "containerd.service",
     ID},
    {"0::/kubepods.slice/kubepods-pod7.slice/crio-" ID ".scope/container\n", "crio-" ID ".scope", ID},
    {"0::/machine.slice/libpod-" ID ".scope/container\n", "libpod-" ID ".scope", ID},
    {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope\n", "libpod-" ID ".scope", ID},
    {"0::/libpod_parent/libpod-" ID "\n", "", ID},
    {"0::/machine.slice/libpod-conmon-" ID ".scope\n", "libpod-conmon-" ID ".scope", ""},
    {"0::/kubepods.slice/crio-conmon-" ID ".scope\n", "crio-conmon-" ID ".scope", ""},
    {"0::/system.slice/docker-" ID ".scope/system.slice/nginx.service\n", "nginx.service", ID},
    {"0::/docker/" ID "/docker/" OTHER_ID "\n", "", OTHER_ID}, /* a container in a container */
    {"0::/lxc/web1\n", "", "web1"},
    {"0::/lxc/web1/system.slice/nginx.service\n", "nginx.service", "web1"},
    {"0::/lxc.payload.web1/init.scope\n", "init.scope", "web1"},
    {"0::/lxc.payload/web1\n", "", "web1"},
    {"0::/lxc.monitor.web1\n", "", ""},
    {"0::/lxc.payload.\n", "", ""},
    {"0::/lxc\n", "", ""},
    /* names that are not container ids */
    {"0::/a" ID "\n", "", ""},
    {"0::/docker/0123456789abcdef\n", "", ""},
    {"0::/docker/" ID "0\n", "", ""},
    {"0::/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\n", "", ""},
    /* a name that is too long is left out */
    {"0::/system.slice/" NAME_256 ".service\n", "", ""},
    {"0::/lxc/" NAME_64 NAME_64 "\n", "", NAME_64 NAME_64},
    {"0::/lxc/" NAME_64 NAME_64 "a\n", "", ""},
    /* malformed lines */
    {"", "", ""},
    {"\n\n", "", ""},
    {"0\n0:\n0::\n::\n:\n", "", ""},
    {"checkout.service\n0:/checkout.service\n", "", ""},
    {"0:://a.service//\n", "a.service", ""},
    {"0::a.service\n", "a.service", ""},
};

static struct proc_group group;

static void parse(char *text)
{
    proc_parse_group(text, &group);
    assert_true(memchr(group.unit, 0, sizeof(group.unit)) != NULL);
    assert_true(memchr(group.container, 0, sizeof(group.container)) != NULL);
}

TEST(lines)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        guarded_cuts(cases[i].text, parse);
        if (strcmp(group.unit, cases[i].unit) != 0 || strcmp(group.container, cases[i].container) != 0)
            fail_msg("%s: \"%s\" \"%s\"", cases[i].text, group.unit, group.container);
    }
}
