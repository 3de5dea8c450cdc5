/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash.c - the keyed hash of tables: ripd/util/hash.c. */
#include "support/test.h"
#include "util/hash.h"

static const struct hash_key ascending = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

/*
 * The published values of SipHash-1-3 with the key 00 to 0f, for no bytes, for 00, for 00 01, and so on. They are in
 * the tests of Rust's library (library/core/tests/hash/sip.rs), as bytes.
 */
TEST(published_values)
{
    static const uint64_t values[] = {
        UINT64_C(0xabac0158050fc4dc), UINT64_C(0xc9f49bf37d57ca93), UINT64_C(0x82cb9b024dc7d44d),
        UINT64_C(0x8bf80ab8e7ddf7fb), UINT64_C(0xcf75576088d38328), UINT64_C(0xdef9d52f49533b67),
        UINT64_C(0xc50d2b50c59f22a7), UINT64_C(0xd3927d989bb11140), UINT64_C(0x369095118d299a8e),
        UINT64_C(0x25a48eb36c063de4), UINT64_C(0x79de85ee92ff097f), UINT64_C(0x70c118c1f94dc352),
        UINT64_C(0x78a384b157b4d9a2), UINT64_C(0x306f760c1229ffa7), UINT64_C(0x605aa111c0f95d34),
        UINT64_C(0xd320d86d2a519956), UINT64_C(0xcc4fdd1a7d908b66), UINT64_C(0x9cf2689063dbd80c),
        UINT64_C(0x8ffc389cb473e63e), UINT64_C(0xf21f9de58d297d1c), UINT64_C(0xc0dc2f46a6cce040),
        UINT64_C(0xb992abfe2b45f844), UINT64_C(0x7ffe7b9ba320872e), UINT64_C(0x525a0e7fdae6c123),
        UINT64_C(0xf464aeb267349c8c), UINT64_C(0x45cd5928705b0979),
    };
    unsigned char bytes[1 + 32]; /* the input is at an odd address */

    for (size_t i = 0; i < sizeof(bytes) - 1; i++)
        bytes[1 + i] = (unsigned char)i;
    for (size_t count = 0; count < COUNT_OF(values); count++)
        assert_int_equal(hash_bytes(&ascending, bytes + 1, count), values[count]);
}

TEST(text)
{
    assert_int_equal(hash_text(&ascending, ""), UINT64_C(0xabac0158050fc4dc));
    assert_int_equal(hash_text(&ascending, "build"), hash_bytes(&ascending, "build-id", 5));
}

/* Both halves of the key and each bit of the input change the hash. */
TEST(everything_matters)
{
    const struct hash_key keys[] = {{{0, 0}}, {{1, 0}}, {{0, 1}}, {{UINT64_C(1) << 63, 0}}, {{0, UINT64_C(1) << 63}}};
    const uint64_t none[2] = {0, 0};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        for (size_t j = 0; j < i; j++)
            assert_true((hash_bytes(&keys[i], none, sizeof(none)) & 0xffffffff) !=
                        (hash_bytes(&keys[j], none, sizeof(none)) & 0xffffffff));
    for (unsigned bit = 0; bit < 128; bit++) {
        uint64_t words[2] = {0, 0};

        words[bit / 64] = UINT64_C(1) << bit % 64;
        assert_true((hash_bytes(&keys[0], words, sizeof(words)) & 0xffffffff) !=
                    (hash_bytes(&keys[0], none, sizeof(none)) & 0xffffffff));
    }
}
