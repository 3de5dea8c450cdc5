# SPDX-License-Identifier: Apache-2.0
# Read by cpack: all times in a package are the time of the newest changelog entry.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  set(ENV{SOURCE_DATE_EPOCH} ${CPACK_RIP_CHANGELOG_TIME})
endif()
