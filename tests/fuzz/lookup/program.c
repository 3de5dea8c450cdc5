/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - a program with a few functions, some of them inlined, without libraries: a seed of fuzz_lookup.c. */
struct pair {
    int left;
    long right;
};

int counter(struct pair *pair);
void _start(void);

static inline __attribute__((always_inline)) int twice(int number)
{
    return number * 2;
}

static inline __attribute__((always_inline)) int inner(int number)
{
    __asm__ volatile("");
    return twice(number) + 1;
}

__attribute__((noinline)) int counter(struct pair *pair)
{
    for (int i = 0; i < 3; i++)
        pair->left += inner(pair->left);
    return pair->left;
}

void _start(void)
{
    struct pair pair = {1, 2};

    for (;;)
        counter(&pair);
}
