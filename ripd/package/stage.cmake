# SPDX-License-Identifier: Apache-2.0
# Run by cpack between the installation and the packages: documents as Debian wants them, static libraries without debug
# information, modes whatever the umask is, and no time that is younger than the changelog.
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
execute_process(COMMAND chmod --recursive u=rwX,go=rX ${stage} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${stage} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                COMMAND_ERROR_IS_FATAL ANY)
