// One Python function per operation over fields of any dimension and scalar.
//
// An operation is a generic lambda over scalar and dimension. Each of its parameters that depends on them becomes a union in
// Python: of the types that the parameter has in two dimensions and in three. A call takes the instance that fits all arguments;
// TypeError names the first one that fits none with those before it.
#pragma once

#include "bridge.hpp"

#include "meniscus/grid/field.hpp"

#include <array>
#include <span>
#include <tuple>
#include <variant>

namespace meniscus::bindings {

using grid::Field;
using grid::MacField;

/// A mask that may be left out.
using Mask = std::optional<py::array>;

/// Instances of an operation, as pointers to the call operators of its lambda.
template <auto... Members>
struct Instances {};

template <class Operation>
using OfDimensions = Instances<&Operation::template operator()<2>, &Operation::template operator()<3>>;

template <class Operation>
using OfFields = Instances<&Operation::template operator()<double, 2>, &Operation::template operator()<float, 3>,
                           &Operation::template operator()<double, 3>>;

/// Over `grid::Field` and `grid::MacField`, too.
template <class Operation>
using OfSamples =
    Instances<&Operation::template operator()<grid::Field, double, 2>, &Operation::template operator()<grid::Field, float, 3>,
              &Operation::template operator()<grid::Field, double, 3>, &Operation::template operator()<grid::MacField, double, 2>,
              &Operation::template operator()<grid::MacField, float, 3>,
              &Operation::template operator()<grid::MacField, double, 3>>;

/// The dtype of T, for operations whose other arguments do not tell it.
template <class T>
struct ScalarType {};

namespace erasure {

template <class... Types>
struct List {};

template <class List, class... Types>
struct Distinct;
template <class... Found>
struct Distinct<List<Found...>> {
  using All = List<Found...>;
  using Variant = std::variant<Found...>;
};
template <class... Found, class T, class... Rest>
struct Distinct<List<Found...>, T, Rest...>
    : std::conditional_t<(std::is_same_v<T, Found> || ...), Distinct<List<Found...>, Rest...>,
                         Distinct<List<Found..., T>, Rest...>> {};

template <class T, class... Types>
constexpr bool all_are = (std::is_same_v<T, Types> && ...);

template <class T, class... Found>
constexpr std::size_t place_in(List<Found...>) {
  std::size_t place = 0;
  static_cast<void>(((std::is_same_v<T, Found> || (++place, false)) || ...));
  return place;
}

/// Objects of a class of the core.
template <class T>
constexpr bool is_object = std::is_base_of_v<py::detail::type_caster_generic, py::detail::make_caster<T>>;

inline bool is_of_type(py::handle source, const py::detail::type_info* type) {
  return type && Py_TYPE(source.ptr()) == type->type;
}

template <class... Types>
struct ChoiceCaster;

/// An argument, converted to each of the types that it fits; `Types` are those of the instances.
template <class... Types>
struct Choice {
  ChoiceCaster<Types...>* caster;
};

template <class... Types>
struct ChoiceCaster {
  using Alternatives = typename Distinct<List<>, Types...>::All;
  template <class... Found>
  static auto casters_of(List<Found...>) -> std::tuple<py::detail::make_caster<Found>...>;
  template <class... Found>
  static constexpr auto name_of(List<Found...>) {
    constexpr auto names = py::detail::union_concat(py::detail::make_caster<Found>::name...);
    if constexpr ((std::is_pointer_v<Found> && ...)) {
      return names + py::detail::const_name(" | None");
    } else {
      return names;
    }
  }

  static constexpr auto name = name_of(Alternatives{});
  template <class>
  using cast_op_type = Choice<Types...>;
  operator Choice<Types...>() { return {this}; }

  bool load(py::handle source, bool convert) {
    instances = load_each(source, convert, Alternatives{});
    return instances != 0;
  }

  template <class... Found>
  unsigned load_each(py::handle source, bool convert, List<Found...> found) {
    std::array<bool, sizeof...(Found)> fits;
    if constexpr ((is_object<Found> && ...)) {
      // Classes exclude each other, and to ask for another one takes long.
      const std::array<bool, sizeof...(Found)> exact{is_of_type(source, std::get<place_in<Found>(found)>(casters).typeinfo)...};
      const bool known = (exact[place_in<Found>(found)] || ...);
      fits = {(exact[place_in<Found>(found)] || !known) && std::get<place_in<Found>(found)>(casters).load(source, convert)...};
    } else {
      fits = {std::get<place_in<Found>(found)>(casters).load(source, convert)...};
    }
    unsigned bits = 0, bit = 1;
    ((bits |= fits[place_in<Types>(found)] ? bit : 0U, bit <<= 1), ...);
    return bits;
  }

  /// The argument as the instance has it.
  template <class T>
  decltype(auto) as() {
    return py::detail::cast_op<T>(std::move(std::get<place_in<T>(Alternatives{})>(casters)));
  }

  decltype(casters_of(Alternatives{})) casters;
  unsigned instances = 0;  ///< one bit for each that the argument fits
};

template <class... Types>
using Parameter = std::conditional_t<all_are<Types...>, std::tuple_element_t<0, std::tuple<Types...>>, Choice<Types...>>;

/// The bits of the instances that an argument fits.
template <class T>
unsigned instances_of(const T&) {
  return ~0U;
}
template <class... Types>
unsigned instances_of(const Choice<Types...>& choice) {
  return choice.caster->instances;
}

template <class T, class Argument>
decltype(auto) argument_as(Argument&& argument) {
  return std::forward<Argument>(argument);
}
template <class T, class... Types>
decltype(auto) argument_as(Choice<Types...>&& choice) {
  return choice.caster->template as<T>();
}

/// Raises WrongType for the first argument that fits no instance that those before it fit.
[[noreturn]] inline void refuse_mixture(std::span<const unsigned> instances, std::span<const char* const> names, unsigned all) {
  const char* first = nullptr;
  std::size_t k = 0;
  for (unsigned fitting = all; k + 1 < instances.size(); ++k) {
    fitting &= instances[k];
    if (fitting == 0) break;
    if (fitting != all && !first) first = names[k];
  }
  throw WrongType(std::string(names[k]) + " does not have the dimension and the dtype of " + (first ? first : "the others"));
}

template <class Member>
struct Signature;
template <class Owner, class R, class... P>
struct Signature<R (Owner::*)(P...) const> {
  using Result = R;
  using Parameters = List<P...>;
  static constexpr std::size_t count = sizeof...(P);
  template <std::size_t K>
  using At = std::tuple_element_t<K, std::tuple<P...>>;
};

template <class Operation, class Places, auto... Members>
struct Erased;
template <class Operation, std::size_t... K, auto... Members>
struct Erased<Operation, std::index_sequence<K...>, Members...> {
  template <std::size_t I>
  using At = Parameter<typename Signature<decltype(Members)>::template At<I>...>;
  using Results = Distinct<List<>, typename Signature<decltype(Members)>::Result...>;
  using First = typename Signature<std::tuple_element_t<0, std::tuple<decltype(Members)...>>>::Result;
  using Result =
      std::conditional_t<all_are<First, typename Signature<decltype(Members)>::Result...>, First, typename Results::Variant>;

  Result operator()(At<K>... arguments) const {
    constexpr unsigned all = (1U << sizeof...(Members)) - 1;
    const unsigned fitting = (all & ... & instances_of(arguments));
    if (fitting == 0) refuse_mixture(std::array{instances_of(arguments)...}, names, all);
    return call<0, Members...>(fitting, std::forward<At<K>>(arguments)...);
  }

  template <unsigned I, auto Member, auto... Rest>
  Result call(unsigned fitting, At<K>&&... arguments) const {
    if constexpr (sizeof...(Rest) > 0) {
      if ((fitting >> I & 1U) == 0) return call<I + 1, Rest...>(fitting, std::forward<At<K>>(arguments)...);
    }
    using S = Signature<decltype(Member)>;
    return (operation.*Member)(argument_as<typename S::template At<K>>(std::forward<At<K>>(arguments))...);
  }

  Operation operation;
  std::array<const char*, sizeof...(K)> names;
};

template <class Operation, auto First, auto... Rest, class... Extra>
auto erased(Operation operation, Instances<First, Rest...>, const Extra&... extra) {
  constexpr std::size_t count = Signature<decltype(First)>::count;
  Erased<Operation, std::make_index_sequence<count>, First, Rest...> e{operation, {}};
  e.names.fill("self");
  std::size_t k = count - (std::size_t{std::is_base_of_v<py::arg, Extra>} + ... + 0);
  const auto name = [&]<class E>(const E& x) {
    if constexpr (std::is_base_of_v<py::arg, E>) e.names[k++] = x.name;
  };
  (name(extra), ...);
  return e;
}

}  // namespace erasure
}  // namespace meniscus::bindings

namespace pybind11::detail {

template <class... Types>
class type_caster<meniscus::bindings::erasure::Choice<Types...>> : public meniscus::bindings::erasure::ChoiceCaster<Types...> {};

template <class T>
class type_caster<meniscus::bindings::ScalarType<T>> {
 public:
  PYBIND11_TYPE_CASTER(meniscus::bindings::ScalarType<T>,
                       const_name("numpy.dtype[") + npy_format_descriptor<T>::name + const_name("]"));
  bool load(handle source, bool) { return isinstance<dtype>(source) && reinterpret_borrow<dtype>(source).equal(dtype::of<T>()); }
};

}  // namespace pybind11::detail

namespace meniscus::bindings {

/// Defines a function of a module, or a method of a class, for all dimensions and scalars: `operation` is a lambda over <class T,
/// int D>.
template <class Scope, class Operation, class... Extra>
void def_fields(Scope& scope, const char* name, Operation operation, const Extra&... extra) {
  scope.def(name, erasure::erased(operation, OfFields<Operation>{}, extra...), extra...);
}

/// The same for both dimensions, over <int D>.
template <class Scope, class Operation, class... Extra>
void def_dimensions(Scope& scope, const char* name, Operation operation, const Extra&... extra) {
  scope.def(name, erasure::erased(operation, OfDimensions<Operation>{}, extra...), extra...);
}

/// The same for scalar fields and velocities of all dimensions and scalars, over
/// <template <class, int> class Samples, class T, int D>.
template <class Scope, class Operation, class... Extra>
void def_samples(Scope& scope, const char* name, Operation operation, const Extra&... extra) {
  scope.def(name, erasure::erased(operation, OfSamples<Operation>{}, extra...), extra...);
}

/// Defines a method of the classes of both dimensions, over <class T, int D>; its first parameter is the object.
template <class Operation, class... Extra>
void def_field_methods(std::initializer_list<py::object> types, const char* name, Operation operation, const Extra&... extra) {
  for (const py::object& type : types)
    type.attr(name) = py::cpp_function(erasure::erased(operation, OfFields<Operation>{}, extra...), py::name(name),
                                       py::is_method(type), extra...);
}

}  // namespace meniscus::bindings
