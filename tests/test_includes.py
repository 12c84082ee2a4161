"""Every source has the standard headers of the names it uses, itself or through ours: precompiled headers must not be what brings them."""

from __future__ import annotations

import re
from pathlib import Path

CPP = Path(__file__).parents[1] / "cpp"
# Where the names are that this code uses most.
HEADERS = {
    "algorithm": r"(sort|stable_sort|min_element|max_element|fill|copy_n|lower_bound|upper_bound)",
    "array": r"array",
    "atomic": r"atomic",
    "bit": r"(bit_width|countr_zero|popcount|bit_cast|has_single_bit)",
    "chrono": r"chrono",
    "cmath": r"(sqrt|isfinite|floor|ceil|pow|exp|log|hypot)",
    "functional": r"function",
    "limits": r"numeric_limits",
    "map": r"map",
    "memory": r"(shared_ptr|unique_ptr|weak_ptr|make_shared|make_unique)",
    "mutex": r"(mutex|lock_guard|unique_lock|scoped_lock)",
    "numeric": r"(accumulate|iota)",
    "optional": r"optional",
    "set": r"set",
    "span": r"span",
    "string": r"string",
    "string_view": r"string_view",
    "tuple": r"(tuple|tie)",
    "unordered_map": r"unordered_map",
    "utility": r"pair",
    "variant": r"(variant|visit|get_if|holds_alternative|monostate)",
    "vector": r"vector",
}


def test_names_of_the_standard_library_have_their_headers() -> None:
    texts = {path.relative_to(CPP).as_posix(): path.read_text(encoding="utf-8") for path in CPP.rglob("*.[ch]pp")}
    includes = {name: re.findall(r'#include [<"]([^>"]+)[>"]', text) for name, text in texts.items()}

    def seen_by(name: str) -> set[str]:
        seen, waiting = set[str](), [name]
        while waiting:
            new = {i for i in includes.get(waiting.pop(), ()) if i not in seen}
            seen |= new
            waiting += new
        return seen

    missing = []
    for name, text in sorted(texts.items()):
        code, seen = re.sub(r"//.*", "", text), seen_by(name)
        missing += [f"{name}: <{h}>" for h, names in HEADERS.items() if h not in seen and re.search(rf"std::{names}\b", code)]
    assert len(texts) > 500
    assert missing == []
