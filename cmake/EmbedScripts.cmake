# cmake -D FOLDER=<scripts> -D NAMES=<a,b,…> -D OUTPUT=<file.inc> -P EmbedScripts.cmake
#
# Writes each FOLDER/<name>.lua as a C++ constant `<name>_script`, with the SHA1 by which Redis
# calls it. A line `--#include other.lua` is replaced by that file.
function(read_script file result)
  file(READ "${FOLDER}/${file}" text)
  string(REGEX MATCHALL "--#include [a-z_]+\\.lua\n" lines "${text}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "--#include ([a-z_]+\\.lua)\n" "\\1" other "${line}")
    read_script("${other}" included)
    string(REPLACE "${line}" "${included}" text "${text}")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(constants "")
set(names "")
string(REPLACE "," ";" scripts "${NAMES}")
foreach(name IN LISTS scripts)
  read_script("${name}.lua" text)
  string(SHA1 sha "${text}")
  string(APPEND constants
    "const Script ${name}_script{\"${name}\", R\"lua(${text})lua\", \"${sha}\"};\n")
  string(APPEND names "    &${name}_script,\n")
endforeach()
file(WRITE "${OUTPUT}" "${constants}\nconstexpr const Script* all[] = {\n${names}};\n")
