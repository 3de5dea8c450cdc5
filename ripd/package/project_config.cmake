# SPDX-License-Identifier: Apache-2.0
# Read by cpack: every time in a package is that of the changelog.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  set(ENV{SOURCE_DATE_EPOCH} ${CPACK_RIP_CHANGELOG_TIME})
endif()
