/* SPDX-License-Identifier: Apache-2.0 */
/* elevated.c FIFO - a set-user-id program that sets all its uids to its effective uid, and reads. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    uid_t user = geteuid();
    char byte;

    if (argc != 2 || setresuid(user, user, user) != 0)
        return 1;
    return read(open(argv[1], O_RDONLY), &byte, 1) == 1 ? 0 : 1;
}
