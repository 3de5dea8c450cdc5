# SPDX-License-Identifier: Apache-2.0
# Run by cpack between installing and packaging: compresses documents as Debian requires, and strips debug information
# from static libraries.
set(stage ${CPACK_TEMPORARY_DIRECTORY})
file(GLOB_RECURSE documents ${stage}/*/usr/share/man/*.[0-9] ${stage}/*/usr/share/doc/*/changelog)
file(GLOB_RECURSE archives ${stage}/*/usr/lib/*.a)
foreach(document ${documents})
  execute_process(COMMAND gzip -9n ${document} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(archive ${archives})
  execute_process(COMMAND strip --strip-debug --remove-section=.comment --remove-section=.note
                          --enable-deterministic-archives ${archive} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
