/* SPDX-License-Identifier: Apache-2.0 */
/* test_work.c - the guarantees of work/work.h and work/jobs.h, by letter. */
#include "support/test.h"
#include "unit/work_test.h"
#include "work/jobs.h"

enum { ANNA = 1000, BERT = 1001, NOBODY = -1, CLASS_ALL = UINT16_MAX };

static struct work *work;
static struct work_job job; /* as of the last next() */

static int setup(void **state)
{
    (void)state;
    work = work_new();
    return work == NULL;
}

static int teardown(void **state)
{
    (void)state;
    work_free(work);
    return 0;
}

static uint64_t take_all(uint32_t user, enum work_limit limit)
{
    uint64_t taken = 0;

    while (work_take(work, user, limit, 1))
        taken++;
    return taken;
}

static void push(uint32_t user, uint32_t subject)
{
    assert_int_equal(work_push(work, user, (struct work_job){.subject = subject, .order = subject}), 0);
}

/* Takes the next job. Returns its user, or NOBODY. */
static int next(uint64_t now, uint16_t class_max)
{
    uint32_t user;

    return work_next(work, now, class_max, &job, &user) ? (int)user : NOBODY;
}

/* work.h, guarantee A. */
TEST(one_user_gets_half_and_each_further_user_something, setup, teardown)
{
    uint64_t all = 0;

    work_set_total(work, WORK_EVENTS, 64);
    assert_int_equal(take_all(ANNA, WORK_EVENTS), 32);
    assert_int_equal(take_all(BERT, WORK_EVENTS), 16);
    for (uint32_t user = 0; user < 8; user++)
        all += take_all(user, WORK_EVENTS);
    assert_true(all <= 16);
    assert_true(take_all(8, WORK_EVENTS) == 0 || all < 16);
    work_give(work, ANNA, WORK_EVENTS, 32);
    assert_true(work_take(work, 9, WORK_EVENTS, 8));
    work_set_total(work, WORK_RINGS, 1);
    assert_true(work_take(work, ANNA, WORK_RINGS, 1)); /* the last unit of an odd total */
}

TEST(too_much_is_refused_without_overflow, setup, teardown)
{
    assert_false(work_take(work, ANNA, WORK_MAPPED_BYTES, UINT64_MAX));
    assert_false(work_take(work, ANNA, WORK_MAPPED_BYTES, UINT64_C(1) << 44));
    assert_true(work_take(work, ANNA, WORK_MAPPED_BYTES, UINT64_C(1) << 43));
    assert_int_equal(work_held(work, ANNA, WORK_MAPPED_BYTES), UINT64_C(1) << 43);
    work_give(work, ANNA, WORK_MAPPED_BYTES, UINT64_MAX); /* never below 0 */
    assert_int_equal(work_held(work, ANNA, WORK_MAPPED_BYTES), 0);
    assert_true(work_has_room(work, BERT, WORK_MAPPED_BYTES, UINT64_C(1) << 43));
}

/* work_reset() releases all of a limit, work_leak() a part of it. */
TEST(limits_that_are_released_by_time, setup, teardown)
{
    work_set_total(work, WORK_EVENTS, 8);
    assert_int_equal(take_all(ANNA, WORK_EVENTS), 4);
    work_reset(work, WORK_EVENTS);
    assert_int_equal(take_all(ANNA, WORK_EVENTS), 4);
    work_leak(work, WORK_EVENTS, 3);
    assert_int_equal(take_all(ANNA, WORK_EVENTS), 3);
    work_leak(work, WORK_EVENTS, 100);
    assert_int_equal(take_all(ANNA, WORK_EVENTS), 4);
}

TEST(the_largest_holder, setup, teardown)
{
    uint32_t user = 0;

    assert_false(work_largest(work, WORK_RINGS, &user));
    work_take(work, BERT, WORK_RINGS, 3);
    work_take(work, ANNA, WORK_RINGS, 2);
    assert_true(work_largest(work, WORK_RINGS, &user));
    assert_int_equal(user, BERT);
}

/* Guarantee B. */
TEST(refusals_are_counted_by_user_and_limit, setup, teardown)
{
    struct work_account account;

    work_set_total(work, WORK_RINGS, 2);
    assert_true(work_take(work, ANNA, WORK_RINGS, 1));
    assert_false(work_take(work, ANNA, WORK_RINGS, 1));
    assert_false(work_take(work, ANNA, WORK_RINGS, 1));
    work_refuse(work, BERT, WORK_READ_TIME, 5);
    assert_true(work_account(work, 0, &account));
    assert_int_equal(account.user, ANNA);
    assert_int_equal(account.held[WORK_RINGS], 1);
    assert_int_equal(account.refused[WORK_RINGS], 2);
    assert_true(work_account(work, 1, &account));
    assert_int_equal(account.user, BERT);
    assert_int_equal(account.refused[WORK_READ_TIME], 5);
    assert_false(work_account(work, 2, &account));
    work_begin(work); /* an account with refusals is kept */
    assert_true(work_account(work, 1, &account));
}

/* jobs.h, guarantee A. */
TEST(the_user_with_the_least_cost_is_next, setup, teardown)
{
    for (uint32_t i = 0; i < 10000; i++)
        push(ANNA, i);
    work_spend(work, ANNA, 50);
    for (uint32_t i = 0; i < 3; i++)
        push(BERT, i);
    for (unsigned served = 0; served < 3; served++) {
        assert_int_equal(next(0, CLASS_ALL), BERT);
        work_spend(work, BERT, 10);
    }
    assert_int_equal(next(0, CLASS_ALL), ANNA);
}

TEST(earlier_cost_counts_half, setup, teardown)
{
    work_spend(work, ANNA, 100);
    work_begin(work);
    work_spend(work, BERT, 49);
    push(ANNA, 0);
    push(BERT, 0);
    assert_int_equal(next(0, CLASS_ALL), BERT);
}

TEST(jobs_of_one_user_come_by_class_order_and_subject, setup, teardown)
{
    static const struct work_job jobs[] = {
        {.class = 2, .order = 1, .subject = 4}, {.class = 1, .order = 7, .subject = 3},
        {.class = 0, .order = 8, .subject = 1}, {.class = 1, .order = 7, .subject = 2},
        {.class = 0, .order = 2, .subject = 0}, {.class = 3, .order = 0, .subject = 5}};

    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        work_push(work, ANNA, jobs[i]);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(next(0, 2), ANNA);
        assert_int_equal(job.subject, i);
    }
    assert_int_equal(next(0, 2), NOBODY); /* the last job has a higher class */
    assert_int_equal(next(0, 3), ANNA);
}

TEST(a_job_waits_for_its_time, setup, teardown)
{
    assert_int_equal(work_next_due(work), UINT64_MAX);
    work_push_at(work, ANNA, (struct work_job){.subject = 2}, 200);
    work_push_at(work, BERT, (struct work_job){.subject = 1}, 100);
    assert_int_equal(work_next_due(work), 100);
    assert_int_equal(next(99, CLASS_ALL), NOBODY);
    assert_int_equal(next(100, CLASS_ALL), BERT);
    assert_int_equal(job.subject, 1);
    assert_int_equal(next(199, CLASS_ALL), NOBODY);
    assert_int_equal(next(300, CLASS_ALL), ANNA);
}

TEST(a_paused_user_keeps_its_jobs, setup, teardown)
{
    push(ANNA, 0);
    work_pause(work, ANNA, 500);
    assert_int_equal(work_next_due(work), 500);
    assert_int_equal(next(499, CLASS_ALL), NOBODY);
    assert_int_equal(next(500, CLASS_ALL), ANNA);
}

TEST(dropped_jobs_are_counted, setup, teardown)
{
    push(ANNA, 0);
    work_push(work, ANNA, (struct work_job){.class = 2});
    work_push_at(work, BERT, (struct work_job){.class = 1}, 9);
    work_refuse_queued(work, WORK_STALLS, 1);
    assert_int_equal(work_refused_count(work, WORK_STALLS), 2);
    assert_int_equal(next(10, CLASS_ALL), NOBODY);
    for (size_t i = 0; i < 5; i++)
        push(i == 3 ? BERT : ANNA, 0);
    assert_int_equal(work_drop(work, ANNA), 4);
    assert_int_equal(work_drop(work, ANNA), 0);
    assert_int_equal(next(10, CLASS_ALL), BERT);
}

TEST(subordinate_uids_count_as_their_user, setup, teardown)
{
    static const struct uid_range ranges[] = {{231072, 65536, BERT}, {165536, 65536, ANNA}};
    static const struct {
        uint32_t uid, user;
    } cases[] = {{0, 0},         {ANNA, ANNA},   {165535, 165535}, {165536, ANNA},
                 {231071, ANNA}, {231072, BERT}, {296608, 296608}};

    assert_int_equal(work_user(work, 165536), 165536);
    assert_int_equal(work_set_ranges(work, ranges, 2), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(work_user(work, cases[i].uid), cases[i].user);
}

/* Guarantee C. */
TEST(further_users_share_accounts, setup, teardown)
{
    struct work_account account;

    for (uint32_t user = 0; user < WORK_USERS_MAX; user++)
        push(user, 0);
    push(WORK_USERS_MAX + 5, 7);
    push(WORK_USERS_MAX + 6, 7);
    assert_true(work_account(work, WORK_USERS_MAX, &account));
    assert_int_equal(account.user, WORK_SHARED);
    assert_false(work_account(work, WORK_USERS_MAX + 1, &account));
    for (unsigned i = 0; i <= WORK_USERS_MAX + 1; i++) {
        uint32_t user;

        assert_true(work_next(work, 0, CLASS_ALL, &job, &user));
    }
    work_begin(work); /* drops accounts that hold nothing */
    assert_false(work_account(work, 0, &account));
}

/* What was taken from a shared account is given back to it, also when there is room for more accounts again. */
TEST(shared_amounts_are_given_back, setup, teardown)
{
    enum { FURTHER = WORK_USERS_MAX + 5, LATER };
    struct work_account account;

    for (uint32_t user = 0; user <= FURTHER; user++)
        assert_true(work_take(work, user, WORK_STALLS, 1));
    for (uint32_t user = 0; user < WORK_USERS_MAX; user++)
        work_give(work, user, WORK_STALLS, 1);
    work_begin(work);
    assert_int_equal(work_held(work, FURTHER, WORK_STALLS), 6);
    assert_true(work_take(work, LATER, WORK_STALLS, 1));
    for (uint32_t user = WORK_USERS_MAX; user <= LATER; user++)
        work_give(work, user, WORK_STALLS, 1);
    work_begin(work);
    assert_false(work_account(work, 0, &account));
    work_set_total(work, WORK_STALLS, 2);
    assert_true(work_take(work, FURTHER, WORK_STALLS, 1)); /* nothing is held any more */
    assert_true(work_account(work, 0, &account));
    assert_int_equal(account.user, FURTHER);
}
