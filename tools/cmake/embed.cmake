# Writes a C++ file that holds .beam files: cmake -DOUTPUT=F.cpp -DINPUTS="a.beam;b.beam" -P embed.cmake
set(text "#include \"tools/embedded.hpp\"\n\nnamespace minivm::tools {\n")
set(table "")
foreach(input IN LISTS INPUTS)
  get_filename_component(name "${input}" NAME_WE)
  file(READ "${input}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND text "static const uint8_t k_${name}[] = {${bytes}};\n")
  string(APPEND table "    {\"${name}\", k_${name}, sizeof(k_${name})},\n")
endforeach()
string(APPEND text "const EmbeddedModule kEmbeddedModules[] = {\n${table}};\n"
  "const size_t kEmbeddedModuleCount = sizeof(kEmbeddedModules) / sizeof(kEmbeddedModules[0]);\n"
  "}  // namespace minivm::tools\n")
file(WRITE "${OUTPUT}" "${text}")
