/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of work/work.h and work/jobs.h, by letter. */
#include "support/test.h"
#include "unit/work_test.h"
#include "work/jobs.h"

enum { ANNA = 1000, BERT = 1001, CLASS_ALL = UINT16_MAX };

static int setup(void **state)
{
    *state = work_new();
    return *state == NULL;
}

static int teardown(void **state)
{
    work_free(*state);
    return 0;
}

static uint64_t take_all(struct work *work, uint32_t user, enum work_limit limit)
{
    uint64_t taken = 0;

    while (work_take(work, user, limit, 1))
        taken++;
    return taken;
}

/* work.h, A */
TEST(one_user_gets_half_and_each_next_one_something, setup, teardown)
{
    struct work *work = *state;
    uint64_t all = 0;

    work_set_total(work, WORK_EVENTS, 64);
    assert_int_equal(take_all(work, ANNA, WORK_EVENTS), 32);
    assert_int_equal(take_all(work, BERT, WORK_EVENTS), 16);
    for (uint32_t user = 0; user < 8; user++)
        all += take_all(work, user, WORK_EVENTS);
    assert_true(all <= 16);
    assert_true(take_all(work, 8, WORK_EVENTS) == 0 || all < 16);
    work_give(work, ANNA, WORK_EVENTS, 32);
    assert_true(work_take(work, 9, WORK_EVENTS, 8));
}

TEST(what_does_not_fit_is_refused_without_overflow, setup, teardown)
{
    struct work *work = *state;

    assert_false(work_take(work, ANNA, WORK_MAPPED_BYTES, UINT64_MAX));
    assert_false(work_take(work, ANNA, WORK_MAPPED_BYTES, UINT64_C(1) << 44));
    assert_true(work_take(work, ANNA, WORK_MAPPED_BYTES, UINT64_C(1) << 43));
    assert_int_equal(work_held(work, ANNA, WORK_MAPPED_BYTES), UINT64_C(1) << 43);
    work_give(work, ANNA, WORK_MAPPED_BYTES, UINT64_MAX); /* never below nothing */
    assert_int_equal(work_held(work, ANNA, WORK_MAPPED_BYTES), 0);
    assert_true(work_has_room(work, BERT, WORK_MAPPED_BYTES, UINT64_C(1) << 43));
}

TEST(a_limit_of_one_scan_is_given_back_at_once, setup, teardown)
{
    struct work *work = *state;

    work_set_total(work, WORK_EVENTS, 4);
    assert_int_equal(take_all(work, ANNA, WORK_EVENTS), 2);
    work_reset(work, WORK_EVENTS);
    assert_int_equal(take_all(work, ANNA, WORK_EVENTS), 2);
}

TEST(a_rate_comes_back_bit_by_bit, setup, teardown)
{
    struct work *work = *state;

    work_set_total(work, WORK_EVENTS, 8);
    assert_int_equal(take_all(work, ANNA, WORK_EVENTS), 4);
    work_leak(work, WORK_EVENTS, 3);
    assert_int_equal(take_all(work, ANNA, WORK_EVENTS), 3);
    work_leak(work, WORK_EVENTS, 100);
    assert_int_equal(take_all(work, ANNA, WORK_EVENTS), 4);
}

TEST(the_largest_holder_is_named, setup, teardown)
{
    struct work *work = *state;
    uint32_t user = 0;

    assert_false(work_largest(work, WORK_RINGS, &user));
    work_take(work, BERT, WORK_RINGS, 3);
    work_take(work, ANNA, WORK_RINGS, 2);
    assert_true(work_largest(work, WORK_RINGS, &user));
    assert_int_equal(user, BERT);
}

/* B */
TEST(refusals_are_counted_by_user_and_limit, setup, teardown)
{
    struct work *work = *state;
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
    work_begin(work); /* who was refused something is still known */
    assert_true(work_account(work, 1, &account));
}

/* jobs.h, A */
TEST(who_cost_least_comes_next, setup, teardown)
{
    struct work *work = *state;
    unsigned annas = 0;
    struct work_job job;
    uint32_t user;

    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(work_push(work, ANNA, (struct work_job){.subject = i, .order = i}), 0);
    work_spend(work, ANNA, 50);
    for (uint32_t i = 0; i < 3; i++)
        work_push(work, BERT, (struct work_job){.subject = i, .order = i});
    for (unsigned served = 0; served < 3;) {
        assert_true(work_next(work, 0, CLASS_ALL, &job, &user));
        work_spend(work, user, 10);
        served += user == BERT;
        annas += user == ANNA;
    }
    assert_int_equal(annas, 0);
    assert_true(work_next(work, 0, CLASS_ALL, &job, &user));
    assert_int_equal(user, ANNA);
}

TEST(what_was_spent_before_counts_half, setup, teardown)
{
    struct work *work = *state;
    struct work_job job;
    uint32_t user;

    work_spend(work, ANNA, 100);
    work_begin(work);
    work_spend(work, BERT, 49);
    work_push(work, ANNA, (struct work_job){0});
    work_push(work, BERT, (struct work_job){0});
    assert_true(work_next(work, 0, CLASS_ALL, &job, &user));
    assert_int_equal(user, BERT);
}

TEST(jobs_of_one_user_come_by_class_order_and_subject, setup, teardown)
{
    static const struct work_job jobs[] = {
        {.class = 2, .order = 1, .subject = 4}, {.class = 1, .order = 7, .subject = 3},
        {.class = 0, .order = 8, .subject = 1}, {.class = 1, .order = 7, .subject = 2},
        {.class = 0, .order = 2, .subject = 0}, {.class = 3, .order = 0, .subject = 5}};
    struct work *work = *state;
    struct work_job job;
    uint32_t user;

    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
        work_push(work, ANNA, jobs[i]);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(work_next(work, 0, 2, &job, &user));
        assert_int_equal(job.subject, i);
    }
    assert_false(work_next(work, 0, 2, &job, &user)); /* the last one is of a higher class */
    assert_true(work_next(work, 0, 3, &job, &user));
}

TEST(a_job_waits_for_its_time, setup, teardown)
{
    struct work *work = *state;
    struct work_job job;
    uint32_t user;

    assert_true(work_next_due(work) == UINT64_MAX);
    work_push_at(work, ANNA, (struct work_job){.subject = 2}, 200);
    work_push_at(work, BERT, (struct work_job){.subject = 1}, 100);
    assert_int_equal(work_next_due(work), 100);
    assert_false(work_next(work, 99, CLASS_ALL, &job, &user));
    assert_true(work_next(work, 100, CLASS_ALL, &job, &user));
    assert_int_equal(job.subject, 1);
    assert_false(work_next(work, 199, CLASS_ALL, &job, &user));
    assert_true(work_next(work, 300, CLASS_ALL, &job, &user));
    assert_int_equal(user, ANNA);
}

TEST(a_paused_user_keeps_his_jobs, setup, teardown)
{
    struct work *work = *state;
    struct work_job job;
    uint32_t user;

    work_push(work, ANNA, (struct work_job){0});
    work_pause(work, ANNA, 500);
    assert_int_equal(work_next_due(work), 500);
    assert_false(work_next(work, 499, CLASS_ALL, &job, &user));
    assert_true(work_next(work, 500, CLASS_ALL, &job, &user));
}

TEST(dropped_jobs_are_counted, setup, teardown)
{
    struct work *work = *state;
    struct work_job job;
    uint32_t user;

    work_push(work, ANNA, (struct work_job){0});
    work_push(work, ANNA, (struct work_job){.class = 2});
    work_push_at(work, BERT, (struct work_job){.class = 1}, 9);
    work_refuse_queued(work, WORK_STALLS, 1);
    assert_int_equal(work_refused_count(work, WORK_STALLS), 2);
    assert_false(work_next(work, 10, CLASS_ALL, &job, &user));
    for (size_t i = 0; i < 5; i++)
        work_push(work, i == 3 ? BERT : ANNA, (struct work_job){0});
    assert_int_equal(work_drop(work, ANNA), 4);
    assert_int_equal(work_drop(work, ANNA), 0);
    assert_true(work_next(work, 10, CLASS_ALL, &job, &user));
    assert_int_equal(user, BERT);
}

TEST(subordinate_uids_are_their_users, setup, teardown)
{
    static const struct uid_range ranges[] = {{231072, 65536, BERT}, {165536, 65536, ANNA}};
    static const struct {
        uint32_t uid, user;
    } cases[] = {{0, 0},         {ANNA, ANNA},   {165535, 165535}, {165536, ANNA},
                 {231071, ANNA}, {231072, BERT}, {296608, 296608}};
    struct work *work = *state;

    assert_int_equal(work_user(work, 165536), 165536);
    assert_int_equal(work_set_ranges(work, ranges, 2), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(work_user(work, cases[i].uid), cases[i].user);
}

/* C */
TEST(more_users_than_accounts_share, setup, teardown)
{
    struct work *work = *state;
    struct work_account account;
    struct work_job job;
    uint32_t user;

    for (uint32_t i = 0; i < WORK_USERS_MAX; i++)
        work_push(work, i, (struct work_job){0});
    assert_int_equal(work_push(work, WORK_USERS_MAX + 5, (struct work_job){.subject = 7}), 0);
    assert_false(work_account(work, WORK_USERS_MAX, &account));
    for (unsigned i = 0; i <= WORK_USERS_MAX; i++)
        assert_true(work_next(work, 0, CLASS_ALL, &job, &user));
    work_begin(work); /* and who holds nothing makes room */
    assert_false(work_account(work, 0, &account));
}
