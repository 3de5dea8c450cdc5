# SPDX-License-Identifier: Apache-2.0
# Writes the files of the web page as C arrays, and the table of these files. web/assets.c includes the output.
#   cmake "-DFILES=page.html;page.css" -DOUTPUT=asset_rows.h -P assets.cmake
get_filename_component(directory ${OUTPUT} DIRECTORY)
file(MAKE_DIRECTORY ${directory})

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(index 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE ".*\\." "" ending ${name})
  if(NOT type_${ending})
    message(FATAL_ERROR "${name}: no content type is defined for .${ending}")
  endif()
  file(READ ${file} hex HEX)
  file(SHA256 ${file} digest)
  string(SUBSTRING ${digest} 0 16 tag)
  # Ten bytes a line: lines stay readable, and the regular expressions of CMake stay fast.
  string(REGEX REPLACE "(....................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1', " bytes "${hex}")
  string(APPEND arrays "static const char bytes_${index}[] = {\n${bytes}\n};\n")
  string(APPEND rows "    {\"${name}\", \"${type_${ending}}\", \"\\\"${tag}\\\"\", bytes_${index}, sizeof(bytes_${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "${arrays}static const struct web_asset assets[] = {\n${rows}};\n")
