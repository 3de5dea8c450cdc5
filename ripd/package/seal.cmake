# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the finished packages. cpack uses the current umask and time, so this script builds each package again
# with fixed modes and with the time of the changelog.

# Adds what Debian's packages of debug information have and cpack leaves out.
function(complete_debug_package tree name)
  file(MAKE_DIRECTORY ${tree}/usr/share/doc)
  file(CREATE_LINK ${name} ${tree}/usr/share/doc/${name}-dbgsym SYMBOLIC)
  file(STRINGS ${tree}/DEBIAN/md5sums lines)
  list(TRANSFORM lines REPLACE " /.*-dbgsym/usr/" " usr/") # cpack writes paths of the build machine
  list(SORT lines)
  list(JOIN lines "\n" text)
  file(WRITE ${tree}/DEBIAN/md5sums "${text}\n")
  execute_process(COMMAND find ${tree}/usr/lib/debug -type f -exec chmod a-x {} + COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(package ${CPACK_PACKAGE_FILES})
  set(tree ${package}.tree)
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${tree} COMMAND_ERROR_IS_FATAL ANY)
  if(package MATCHES "/([^/_]+)-dbgsym_")
    complete_debug_package(${tree} ${CMAKE_MATCH_1})
  endif()
  execute_process(COMMAND chmod --recursive u=rwX,go=rX ${tree} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND find ${tree} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND dpkg-deb --root-owner-group -Zxz --threads-max=1 --build ${tree} ${package} OUTPUT_QUIET
                  COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${tree})
endforeach()
