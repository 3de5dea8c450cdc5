# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the finished packages: cpack has put the umask into the headers of their members, which are made anew.
foreach(package ${CPACK_PACKAGE_FILES})
  set(members ${package}.members)
  file(MAKE_DIRECTORY ${members})
  execute_process(COMMAND ar x ${package} WORKING_DIRECTORY ${members} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ar t ${package} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY) # in their order
  string(REGEX MATCHALL "[^\n]+" names "${names}")
  file(REMOVE ${package})
  execute_process(COMMAND ar rcSD ${package} ${names} WORKING_DIRECTORY ${members} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${members})
endforeach()
