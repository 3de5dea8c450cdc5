// SPDX-License-Identifier: Apache-2.0
// program.cc - like program.c, with names of C++: a seed of fuzz_lookup.c.
namespace store
{
template <typename T> struct Table {
    T value;
    __attribute__((noinline)) T scan(T number)
    {
        struct Local {
            static inline __attribute__((always_inline)) T twice(T given)
            {
                __asm__ volatile("");
                return given * 2;
            }
        };

        value = static_cast<T>(value + Local::twice(number));
        return value;
    }
};
} // namespace store

extern "C" void _start()
{
    store::Table<int> table = {3};
    auto step = [&](int number) __attribute__((noinline))
    {
        return table.scan(number);
    };

    for (;;)
        step(7);
}
