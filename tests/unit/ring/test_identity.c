/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_identity.c - which process is believed to be the one of a record: ripd/ring/identity.c.
 *
 * Each test starts with facts in which everything matches, and changes some. The facts are those that fcntl(F_GETLK)
 * and /proc report in that situation.
 */
#include "ring/identity.h"
#include "support/test.h"

#define USER 1000u

static const struct identity_facts matching = {
    .claimed_pid = 4690,
    .claimed_start_time_ticks = 777,
    .claims_life_lock = true,
    .same_boot = true,
    .same_pid_namespace = true,
    .file_uid = USER,
    .locks_known = true,
    .holder_pid = 4690,
    .life_locked = true,
    .pid = 4690,
    .pid_exists = true,
    .pid_readable = true,
    .pid_start_time_ticks = 777,
    .pid_uid_real = USER,
    .pid_uid_effective = USER,
    .pid_uid_saved = USER,
    .pid_in_namespace = 4690,
};

static struct identity_facts facts; /* of the test */

static int set_up(void **state)
{
    (void)state;
    facts = matching;
    return 0;
}

static void lose_pid(void)
{
    facts.pid_exists = facts.pid_readable = false;
}

static void set_uids(uint32_t uid)
{
    facts.pid_uid_real = facts.pid_uid_effective = facts.pid_uid_saved = uid;
}

/* The verdict is the same on the first and on the second scan. */
static void assert_verdict(enum process_verdict verdict)
{
    struct identity_memory memory = {0};

    assert_int_equal(identity_judge(&facts, &memory), verdict);
    assert_int_equal(identity_judge(&facts, &memory), verdict);
}

static void assert_dead_on_second_scan(void)
{
    struct identity_memory memory = {0};

    assert_int_equal(identity_judge(&facts, &memory), PROCESS_MISSING);
    assert_int_equal(identity_judge(&facts, &memory), PROCESS_DEAD);
}

static void assert_foreign_holder(void)
{
    assert_true(identity_holder_is_foreign(&facts));
}

TEST(a_matching_holder_is_attested, set_up)
{
    assert_verdict(PROCESS_ATTESTED);
    assert_false(identity_holder_is_foreign(&facts));
}

TEST(another_boot_is_dead_at_once, set_up)
{
    facts.same_boot = false;
    assert_verdict(PROCESS_DEAD);
}

TEST(exited_is_dead_at_once, set_up)
{
    facts.exited = true;
    assert_verdict(PROCESS_DEAD);
}

TEST(a_lost_lock_is_alive_but_not_attested, set_up)
{
    facts.holder_pid = 0;
    assert_verdict(PROCESS_ALIVE);
    facts.locks_known = false;
    facts.life_locked = false; /* unknown, not lost */
    assert_verdict(PROCESS_ALIVE);
}

TEST(no_such_pid_is_dead_on_the_second_scan, set_up)
{
    facts.holder_pid = 0;
    lose_pid();
    assert_dead_on_second_scan(); /* although LIFE is locked */
    facts.life_locked = false;
    assert_dead_on_second_scan();
    facts.claims_life_lock = false;
    assert_dead_on_second_scan();
}

TEST(missing_on_one_scan_is_not_dead, set_up)
{
    struct identity_memory memory = {0};

    lose_pid();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(identity_judge(&facts, &memory), PROCESS_MISSING);
        assert_int_equal(identity_judge(&matching, &memory), PROCESS_ATTESTED);
    }
}

TEST(a_reused_pid_is_another_process, set_up)
{
    facts.pid_start_time_ticks = 999;
    facts.holder_pid = 0;
    facts.life_locked = false;
    assert_dead_on_second_scan();
    facts.life_locked = true; /* a lock without its process proves nothing */
    assert_dead_on_second_scan();
}

/* After clone(CLONE_FILES) the lock outlives its owner. F_GETLK still reports the owner's pid, which may be reused. */
TEST(a_lock_that_outlives_its_owner, set_up)
{
    facts.pid_start_time_ticks = 999;
    assert_foreign_holder();
    assert_dead_on_second_scan();
}

/* A process that was started after the record was entered is not the process of the record. */
TEST(an_unknown_start_time_is_limited_by_the_entry, set_up)
{
    facts.claimed_start_time_ticks = 0;
    facts.claimed_entered_ticks = 777; /* the same tick */
    assert_verdict(PROCESS_ATTESTED);
    facts.claimed_entered_ticks = 776;
    assert_foreign_holder();
    assert_dead_on_second_scan();
    facts.claimed_start_time_ticks = 777; /* a known start time has precedence */
    assert_verdict(PROCESS_ATTESTED);
    facts.claimed_start_time_ticks = 0;
    facts.claimed_entered_ticks = 777;
    facts.pid_start_time_ticks = 0;
    assert_int_not_equal(identity_judge(&facts, &(struct identity_memory){0}), PROCESS_ATTESTED);
}

TEST(an_unknown_start_time_is_never_attested, set_up)
{
    facts.claimed_start_time_ticks = 0;
    assert_verdict(PROCESS_ALIVE);
    facts.pid_start_time_ticks = 0; /* not even if both are unknown */
    assert_verdict(PROCESS_ALIVE);
    lose_pid();
    assert_dead_on_second_scan();
}

/* A ring may name a process of another user, with the true start time, but cannot have its lock. */
TEST(a_process_of_another_user_is_unknown, set_up)
{
    facts.holder_pid = 0;
    facts.claims_life_lock = false;
    assert_verdict(PROCESS_ALIVE);
    set_uids(USER + 1);
    assert_verdict(PROCESS_UNKNOWN);
    facts.pid_uid_real = USER;
    assert_verdict(PROCESS_UNKNOWN);
    facts.file_uid = 0; /* root may name any process */
    assert_verdict(PROCESS_ALIVE);
}

TEST(every_uid_must_be_the_owner, set_up)
{
    uint32_t *uids[] = {&facts.pid_uid_real, &facts.pid_uid_effective, &facts.pid_uid_saved};

    for (size_t i = 0; i < COUNT_OF(uids); i++) {
        *uids[i] = 0; /* the holder executed a set-user-id program */
        assert_verdict(PROCESS_UNKNOWN);
        assert_foreign_holder();
        facts.file_uid = 0; /* a process that root started may change its uids */
        assert_verdict(i == 0 ? PROCESS_ATTESTED : PROCESS_ALIVE);
        facts = matching;
    }
    facts.file_uid = 0; /* it has dropped its uid */
    assert_verdict(PROCESS_ATTESTED);
}

/* exec keeps the HOLDER lock if the descriptor is kept, whatever the uids become. The LIFE lock is lost. */
TEST(a_holder_without_life_lock_is_not_attested, set_up)
{
    facts.claims_life_lock = facts.life_locked = false;
    assert_verdict(PROCESS_ALIVE);
    facts.file_uid = 0;
    set_uids(0);
    assert_verdict(PROCESS_ALIVE);
    facts.claims_life_lock = true;
    assert_dead_on_second_scan();
}

/* A process that may write the file locks the byte of another process's record. */
TEST(a_foreign_holder_is_ignored, set_up)
{
    facts.holder_pid = facts.pid = facts.pid_in_namespace = 5555;
    assert_foreign_holder();
    assert_verdict(PROCESS_UNKNOWN); /* even with the same start time */
    facts.pid_start_time_ticks = 999;
    assert_foreign_holder();
    assert_verdict(PROCESS_UNKNOWN);
    facts.life_locked = false; /* it does not keep the process alive */
    assert_dead_on_second_scan();

    facts = matching; /* the caller then judges as if there were no holder */
    facts.holder_pid = 0;
    assert_verdict(PROCESS_ALIVE);
    lose_pid();
    assert_dead_on_second_scan();
}

TEST(another_namespace_needs_the_inner_pid, set_up)
{
    facts.same_pid_namespace = false;
    facts.claimed_pid = 7;
    facts.pid_in_namespace = 7;
    assert_verdict(PROCESS_ATTESTED);
    facts.pid_in_namespace = 0; /* unknown: start time and uid have to suffice */
    assert_verdict(PROCESS_ATTESTED);
    facts.pid_in_namespace = 8;
    assert_foreign_holder();
    assert_verdict(PROCESS_UNKNOWN);
}

TEST(the_same_namespace_needs_the_claimed_pid, set_up)
{
    facts.pid_in_namespace = 0;
    assert_verdict(PROCESS_ATTESTED);
    facts.claimed_pid = 4691;
    assert_verdict(PROCESS_UNKNOWN);
}

TEST(without_a_pid_only_the_life_lock_counts, set_up)
{
    facts.same_pid_namespace = false;
    facts.holder_pid = facts.pid = 0;
    lose_pid();
    assert_verdict(PROCESS_UNKNOWN);
    facts.life_locked = false;
    assert_dead_on_second_scan();
    facts.locks_known = false;
    assert_verdict(PROCESS_UNKNOWN);
    facts.locks_known = true;
    facts.claims_life_lock = false;
    assert_verdict(PROCESS_UNKNOWN);
}

/* exec keeps pid, start time and often the uids, but not the address space with its LIFE lock. */
TEST(a_process_that_executed_another_program_is_dead, set_up)
{
    facts.holder_pid = 0;
    facts.life_locked = false;
    assert_dead_on_second_scan();
    facts.execing = true;
    facts.claims_life_lock = false;
    assert_dead_on_second_scan();
    facts.holder_pid = 4690; /* it kept the descriptor */
    assert_dead_on_second_scan();
}

TEST(an_announced_exec_changes_nothing, set_up)
{
    facts.execing = true;
    assert_verdict(PROCESS_ATTESTED);
    facts.locks_known = false;
    facts.holder_pid = 0;
    assert_verdict(PROCESS_ALIVE);
}

TEST(an_unreadable_pid_is_unknown, set_up)
{
    facts.pid_readable = false;
    facts.pid_start_time_ticks = 0;
    assert_verdict(PROCESS_UNKNOWN);
    facts.life_locked = false;
    assert_dead_on_second_scan();
}

/* Attested: all checks of guarantee B of identity.c hold. Dead on the first scan: another boot, or EXITED. */
TEST(all_combinations_keep_the_guarantees)
{
    for (uint32_t bits = 0; bits < 1u << 13; bits++) {
        struct identity_memory memory = {0};
        enum process_verdict verdict;

        facts = matching;
        facts.same_boot = !(bits & 1);
        facts.exited = bits & 2;
        facts.execing = bits & 4;
        facts.claims_life_lock = bits & 8;
        facts.life_locked = bits & 16;
        facts.locks_known = bits & 32;
        facts.holder_pid = bits & 64 ? 4690 : 0;
        facts.pid_exists = bits & 128;
        facts.pid_readable = facts.pid_exists && bits & 256;
        facts.pid_start_time_ticks = bits & 512 ? 777 : 999;
        facts.pid_uid_effective = bits & 1024 ? USER : 0;
        facts.same_pid_namespace = bits & 2048;
        facts.pid = bits & 4096 ? 4690 : 0;
        verdict = identity_judge(&facts, &memory);
        if (verdict == PROCESS_ATTESTED)
            assert_true(facts.same_boot && !facts.exited && facts.locks_known && facts.holder_pid && facts.pid &&
                        facts.pid_readable && facts.pid_start_time_ticks == 777 && facts.pid_uid_effective == USER);
        if (verdict == PROCESS_ALIVE)
            assert_true(facts.same_boot && !facts.exited && facts.pid_readable && facts.pid_start_time_ticks == 777);
        assert_int_equal(verdict == PROCESS_DEAD, !facts.same_boot || facts.exited);
    }
}
