/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_identity.c - whom to believe. Each test starts from a record of which everything is in order and breaks one
 * thing; the facts are those that fcntl(F_GETLK) and /proc were seen to give in that situation.
 */
#include "ring/identity.h"
#include "support/test.h"

#define USER 1000u

static struct identity_facts in_order(void)
{
    return (struct identity_facts){
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
}

/* The verdicts of two scans on which nothing changes. */
static void assert_verdicts(struct identity_facts facts, enum process_verdict first, enum process_verdict second)
{
    struct identity_memory memory = {0};

    assert_int_equal(identity_judge(&facts, &memory), first);
    assert_int_equal(identity_judge(&facts, &memory), second);
}

TEST(holder_in_order_is_attested)
{
    const struct identity_facts facts = in_order();

    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    assert_false(identity_holder_is_foreign(&facts));
}

TEST(other_boot_and_exited_are_dead_at_once)
{
    struct identity_facts rebooted = in_order(), exited = in_order();

    rebooted.same_boot = false;
    exited.exited = true;
    assert_verdicts(rebooted, PROCESS_DEAD, PROCESS_DEAD);
    assert_verdicts(exited, PROCESS_DEAD, PROCESS_DEAD);
}

TEST(lock_lost_is_alive_but_not_attested)
{
    struct identity_facts facts = in_order();

    facts.holder_pid = 0;
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
    facts.locks_known = false;
    facts.life_locked = false; /* unknown, not lost */
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
}

TEST(no_such_pid_is_dead_on_the_second_scan)
{
    struct identity_facts facts = in_order();

    facts.holder_pid = 0;
    facts.life_locked = false;
    facts.pid_exists = facts.pid_readable = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
    facts.claims_life_lock = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

TEST(one_scan_is_not_enough)
{
    struct identity_facts gone = in_order(), back = in_order();
    struct identity_memory memory = {0};

    gone.pid_exists = gone.pid_readable = false;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(identity_judge(&gone, &memory), PROCESS_MISSING);
        assert_int_equal(identity_judge(&back, &memory), PROCESS_ATTESTED);
    }
}

TEST(reused_pid_is_not_the_process)
{
    struct identity_facts facts = in_order();

    facts.pid_start_time_ticks = 999;
    facts.holder_pid = 0;
    facts.life_locked = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
    facts.life_locked = true; /* a lock without its process proves nothing */
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

/* clone(CLONE_FILES): the lock outlived its owner, F_GETLK still names the owner's pid, and a stranger has that now. */
TEST(surviving_lock_that_names_a_reused_pid_is_not_believed)
{
    struct identity_facts facts = in_order();

    facts.pid_start_time_ticks = 999;
    assert_true(identity_holder_is_foreign(&facts));
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

/* Of two processes with the pid the later one was started after the first had entered the ring. */
TEST(unknown_start_time_lies_before_it_entered)
{
    struct identity_facts facts = in_order();

    facts.claimed_start_time_ticks = 0;
    facts.claimed_entered_ticks = 777; /* the same tick */
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    facts.claimed_entered_ticks = 776;
    assert_true(identity_holder_is_foreign(&facts));
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
    facts.claimed_start_time_ticks = 777; /* one that is known counts alone */
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    facts.claimed_start_time_ticks = 0;
    facts.claimed_entered_ticks = 777;
    facts.pid_start_time_ticks = 0;
    assert_int_not_equal(identity_judge(&facts, &(struct identity_memory){0}), PROCESS_ATTESTED);
}

TEST(unknown_start_time_is_never_attested)
{
    struct identity_facts facts = in_order();

    facts.claimed_start_time_ticks = 0;
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
    facts.pid_start_time_ticks = 0; /* not even if the other one is not known either */
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
    facts.pid_exists = facts.pid_readable = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

/* A ring of one's own that names somebody else's process, true start time and all, but cannot hold its lock. */
TEST(living_process_of_another_user_is_not_talked_about)
{
    struct identity_facts facts = in_order();

    facts.holder_pid = 0;
    facts.claims_life_lock = false;
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
    facts.pid_uid_real = facts.pid_uid_effective = facts.pid_uid_saved = USER + 1;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
    facts.pid_uid_real = USER;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
    facts.file_uid = 0; /* root may name anybody */
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
}

TEST(every_uid_must_be_the_owners)
{
    uint32_t *uids[3];
    struct identity_facts facts = in_order();

    uids[0] = &facts.pid_uid_real;
    uids[1] = &facts.pid_uid_effective;
    uids[2] = &facts.pid_uid_saved;
    for (int i = 0; i < 3; i++) {
        *uids[i] = 0; /* a locker that executed a set-user-id program */
        assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
        assert_true(identity_holder_is_foreign(&facts));
        facts.file_uid = 0; /* of root's ring: a program that root started may be anybody for a while */
        assert_verdicts(facts, i == 0 ? PROCESS_ATTESTED : PROCESS_ALIVE, i == 0 ? PROCESS_ATTESTED : PROCESS_ALIVE);
        facts.file_uid = USER;
        *uids[i] = USER;
    }
    facts.file_uid = 0; /* one that has dropped its uid */
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
}

/* The HOLDER lock survives exec with its descriptor, whatever the uids are then: the LIFE lock does not. */
TEST(executed_since_is_not_attested)
{
    struct identity_facts facts = in_order();

    facts.claims_life_lock = false; /* or it would be gone */
    facts.life_locked = false;
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
    facts.file_uid = facts.pid_uid_real = facts.pid_uid_effective = facts.pid_uid_saved = 0;
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
    facts.claims_life_lock = true;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

/* Somebody who may write the file locks the byte, so as to have the daemon look at him, or at a victim's record. */
TEST(foreign_locker_is_ignored)
{
    struct identity_facts facts = in_order(), again = in_order();

    facts.holder_pid = facts.pid = facts.pid_in_namespace = 5555;
    assert_true(identity_holder_is_foreign(&facts));
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN); /* even with the same start time */
    facts.pid_start_time_ticks = 999;
    assert_true(identity_holder_is_foreign(&facts));
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);

    /* What the caller does then: as if nobody held it. */
    again.holder_pid = 0;
    assert_verdicts(again, PROCESS_ALIVE, PROCESS_ALIVE);
    again.pid_exists = again.pid_readable = false;
    assert_verdicts(again, PROCESS_MISSING, PROCESS_DEAD);
}

TEST(foreign_locker_does_not_keep_an_exited_process_alive)
{
    struct identity_facts facts = in_order();

    facts.holder_pid = facts.pid = facts.pid_in_namespace = 5555;
    facts.life_locked = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

TEST(other_namespace_goes_by_the_inner_pid)
{
    struct identity_facts facts = in_order();

    facts.same_pid_namespace = false;
    facts.claimed_pid = 7;
    facts.pid_in_namespace = 7;
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    facts.pid_in_namespace = 0; /* not known: the start time and the uid must do */
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    facts.pid_in_namespace = 8;
    assert_true(identity_holder_is_foreign(&facts));
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
}

TEST(same_namespace_takes_the_claimed_number)
{
    struct identity_facts facts = in_order();

    facts.pid_in_namespace = 0;
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    facts.claimed_pid = 4691;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
}

TEST(nobody_to_look_up_is_unknown_until_the_address_space_goes)
{
    struct identity_facts facts = in_order();

    facts.same_pid_namespace = false;
    facts.holder_pid = facts.pid = 0;
    facts.pid_exists = facts.pid_readable = false;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
    facts.life_locked = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
    facts.locks_known = false;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
    facts.locks_known = true;
    facts.claims_life_lock = false;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
}

/* exec keeps pid, start time and often uid; what it does not keep is the address space. */
TEST(process_that_executed_another_program_is_gone)
{
    struct identity_facts facts = in_order();

    facts.holder_pid = 0;
    facts.life_locked = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
    facts.execing = true;
    facts.claims_life_lock = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
    facts.holder_pid = 4690; /* and kept the descriptor */
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

TEST(exec_that_has_not_happened_yet_changes_nothing)
{
    struct identity_facts facts = in_order();

    facts.execing = true;
    assert_verdicts(facts, PROCESS_ATTESTED, PROCESS_ATTESTED);
    facts.locks_known = false;
    facts.holder_pid = 0;
    assert_verdicts(facts, PROCESS_ALIVE, PROCESS_ALIVE);
}

TEST(unreadable_pid_is_unknown)
{
    struct identity_facts facts = in_order();

    facts.pid_readable = false;
    facts.pid_start_time_ticks = 0;
    assert_verdicts(facts, PROCESS_UNKNOWN, PROCESS_UNKNOWN);
    facts.life_locked = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

TEST(life_lock_alone_proves_nothing)
{
    struct identity_facts facts = in_order();

    facts.holder_pid = 0;
    facts.pid_exists = facts.pid_readable = false;
    assert_verdicts(facts, PROCESS_MISSING, PROCESS_DEAD);
}

/* No combination is attested unless all the checks of guarantee B hold; none is dead on the first scan but two. */
TEST(all_combinations_keep_the_guarantees)
{
    for (uint32_t bits = 0; bits < 1u << 13; bits++) {
        struct identity_facts facts = in_order();
        struct identity_memory memory = {0};
        enum process_verdict verdict;

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
