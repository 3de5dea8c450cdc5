/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test.h - tests that register themselves, so that no list of tests is needed. cmocka runs them.
 *
 * TEST(name) { ... } is a test. TEST(name, set_up, tear_down) { ... } is a test with cmocka fixtures; TEST_F(name) is
 * short for it. The body may use cmocka's `void **state`. Tests run in the order of their lines.
 *
 * A program without a main() gets that of test_main.c. A program that has something to prepare calls tests_run() in its
 * own main().
 */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct registered_test {
    struct registered_test *next;
    struct CMUnitTest test;
    int line;
};

/* Keeps a pointer to the entry. */
void tests_add(struct registered_test *entry);
/* Runs all tests with the fixtures of the group, which may be NULL. Returns the exit status. */
int tests_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Further arguments: the fields of struct CMUnitTest after the test function. */
#define TEST(title, ...)                                                                                               \
    static void test_##title(void **state);                                                                            \
    __attribute__((constructor)) static void tests_add_##title(void)                                                   \
    {                                                                                                                  \
        static struct registered_test entry = {.line = __LINE__,                                                       \
                                               .test = {.name = #title, .test_func = test_##title, __VA_ARGS__}};      \
                                                                                                                       \
        tests_add(&entry);                                                                                             \
    }                                                                                                                  \
    static void test_##title(__attribute__((unused)) void **state)

/* A test with the fixtures that its file calls set_up and tear_down. */
#define TEST_F(title) TEST(title, set_up, tear_down)

#endif
