/* SPDX-License-Identifier: Apache-2.0 */
/* test_registry_lease.c - leases of a ring's file for other threads: ripd/ring/registry.c. */
#include "unit/registry_test.h"

/* A lease hands out the file as long as the ring is mapped. After that the number may belong to another file. */
SCENE(a_lease_of_a_ring)
{
    struct lease *lease;
    struct stat about;
    uint32_t serial;
    int copy;

    make_ring("ring", true);
    scene_refresh();
    serial = serial_of("ring");
    assert_null(registry_lease(scene.registry, serial + 1));
    lease = lease_ref(registry_lease(scene.registry, serial));
    assert_ptr_equal(registry_lease(scene.registry, serial), lease);
    copy = lease_duplicate(lease);
    assert_int_equal(fstat(copy, &about), 0);
    assert_int_equal(about.st_ino, ring_named("ring")->mapping.file.inode);
    close(copy);
    copy = ring_named("ring")->mapping.descriptor;
    registry_damage(scene.registry, ring_named("ring"));
    assert_int_equal(dup2(STDIN_FILENO, copy), copy); /* the number is reused */
    assert_int_equal(lease_duplicate(lease), -EBADF);
    close(copy);
    lease_unref(lease);
}
