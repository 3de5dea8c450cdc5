/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease.c - duplicates of a descriptor that its owner may have closed: ripd/os/lease.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/lease.h"
#include "support/test.h"

TEST(duplicates)
{
    int file = open("/bin/sh", O_RDONLY | O_CLOEXEC), copy;
    struct lease *lease = lease_new(file), *other = lease_ref(lease);
    struct stat about, again;

    copy = lease_duplicate(lease);
    assert_true(copy >= 0 && copy != file);
    assert_int_equal(fcntl(copy, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fstat(file, &about) | fstat(copy, &again), 0);
    assert_int_equal(about.st_ino, again.st_ino);
    lease_end(lease);
    lease_unref(lease);
    close(file);
    assert_int_equal(lease_duplicate(other), -EBADF);
    assert_int_equal(fstat(copy, &again), 0); /* a duplicate stays open */
    lease_end(other);
    lease_unref(other);
    close(copy);
}

TEST(none)
{
    assert_null(lease_ref(NULL));
    assert_int_equal(lease_duplicate(NULL), -EBADF);
    lease_end(NULL);
    lease_unref(NULL);
}

/* The owner closes the file and opens another one with that number. The other thread gets the first file or none. */
static void *take(void *context)
{
    struct lease *lease = context;
    struct stat about, expected;
    int copy;

    assert_int_equal(stat("/bin/sh", &expected), 0);
    while ((copy = lease_duplicate(lease)) >= 0) {
        assert_int_equal(fstat(copy, &about), 0);
        assert_int_equal(about.st_ino, expected.st_ino);
        close(copy);
    }
    assert_int_equal(copy, -EBADF);
    lease_unref(lease);
    return NULL;
}

TEST(threads)
{
    for (int i = 0; i < 200; i++) {
        int file = open("/bin/sh", O_RDONLY | O_CLOEXEC), other;
        struct lease *lease = lease_new(file);
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, take, lease_ref(lease)), 0);
        usleep(100);
        lease_end(lease);
        lease_unref(lease);
        close(file);
        other = open("/dev/null", O_RDONLY | O_CLOEXEC);
        pthread_join(thread, NULL);
        close(other);
    }
}
