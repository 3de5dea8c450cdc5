// SPDX-License-Identifier: Apache-2.0
// fibers.cc - Boost fibers as ids; one waits on a channel that nobody fills:  fibers RING
//
//   c++ -std=c++17 fibers.cc -o fibers $(pkg-config --cflags --libs librip) -lboost_fiber -lboost_context
#include <rip/boost_fiber.hpp>

#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace
{

boost::fibers::buffered_channel<int> requests(8), replies(8);

void serve()
{
    for (;;) {
        int request, reply;
        {
            rip::idle waiting; // waits for work: not stuck, however long
            requests.pop(request);
        }
        rip_snap();
        if (request == 2)
            replies.pop(reply); // the bug: nobody answers
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (!rip_create_ring(argc > 1 ? argv[1] : "/dev/shm/fibers", 64))
        std::perror("fibers: not traced");
    rip::thread traced("main");
    boost::fibers::use_scheduling_algorithm<rip::fiber_scheduler<>>(); // in each thread that has fibers
    std::vector<boost::fibers::fiber> servers;
    for (unsigned i = 0; i < 4; i++) {
        servers.emplace_back(boost::fibers::launch::post, serve);
        servers.back().properties<rip::fiber_properties>().name("server " + std::to_string(i));
    }
    for (int request = 0;; request++) {
        requests.push(request);
        rip::idle waiting;
        boost::this_fiber::sleep_for(std::chrono::milliseconds(10));
    }
}
