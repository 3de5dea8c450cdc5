// SPDX-License-Identifier: Apache-2.0
// target.cc - names of C++.
#include <rip/rip.hpp>

#include <cstdio>
#include <unistd.h>

extern const char program_name[];
const char program_name[] = PROGRAM_NAME; // no two programs have one build id

namespace store
{
template <typename Key> class Table
{
  public:
    __attribute__((noinline)) void scan(Key key)
    {
        rip_snap(); // MARK store::Table<int>::scan(int)
        found_ += key;
    }

  private:
    volatile Key found_ = 0;
};

namespace
{
__attribute__((noinline)) void sweep()
{
    rip_init(2, "sweep", 5, 0, 0);
    rip_snap(); // MARK store::(anonymous namespace)::sweep
}
} // namespace

void sweep_all()
{
    sweep();
}

// The breadcrumb at the end of a scope must be at its brace, not in rip.hpp.
void serve()
{
    rip_init(3, "serve", 5, 0, 0);
    {
        rip::idle waiting;
    } // MARK store::serve()
}

// Without optimization, its debug information is inside visit(), whose code is elsewhere.
void visit()
{
    auto each = [] {
        rip_init(4, "each", 4, 0, 0);
        rip_snap(); // MARK visit::operator()
    };

    each();
}
} // namespace store

int main(int count, char **arguments)
{
    static store::Table<int> table;

    if (count < 2 || !rip_create_ring(arguments[1], 8))
        return 1;
    store::sweep_all();
    store::serve();
    store::visit();
    rip_init(1, "main", 4, 0, 0);
    table.scan(count);
    std::puts("ready");
    std::fflush(stdout);
    for (;;)
        pause();
}
