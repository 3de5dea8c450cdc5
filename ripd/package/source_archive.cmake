# SPDX-License-Identifier: Apache-2.0
# Writes librip-VERSION.tar.gz with the files under version control. The archive is reproducible.
#   cmake -DSOURCE=... -DNAME=... -DFOLDER=... -DTIME=SECONDS -P source_archive.cmake
file(MAKE_DIRECTORY ${FOLDER})
set(archive ${FOLDER}/${NAME}.tar)
execute_process(COMMAND git -c safe.directory=* -C ${SOURCE} ls-files -z --cached
                COMMAND tar --create --file ${archive} --directory ${SOURCE} --null --files-from=- --sort=name
                        --mtime=@${TIME} --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=gnu
                        --transform=s,^,${NAME}/,S
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9nf ${archive} COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "${archive}.gz")
