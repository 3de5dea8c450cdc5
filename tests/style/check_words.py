# SPDX-License-Identifier: Apache-2.0
"""Habits that a search can see: licence lines, stories, no volatile, no alloca, no unfinished work."""
import re

import tree

PRODUCT = ("include/", "librip/", "ripd/")
EVERYWHERE = ("",)
# what is looked for, in which files below which folders, what is wrong with it, lines where it is right
RULES = [
    (re.compile(r"\bvolatile\b(?!\s*\()"), (".c", ".h"), PRODUCT, "volatile is not a memory model; see rip/order.h",
     re.compile(r"__asm__ volatile|sig_atomic_t")),
    (re.compile(r"\balloca\s*\("), (".c", ".h"), PRODUCT, "no alloca", re.compile(r"alloca: ")),
    (re.compile(r"\b(strcpy|strcat|sprintf|gets|strtok)\s*\("), (".c", ".h"), PRODUCT, "unbounded string function",
     None),
    (re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|not " + r"implemented)\b"),
     (".c", ".h", ".py", ".sh", ".md", ".txt"), EVERYWHERE, "unfinished work", None),
    (re.compile(r"^typedef struct", re.M), (".c", ".h"), EVERYWHERE, "no struct typedefs", None),
]
CODE = (".c", ".h", ".py", ".sh", "CMakeLists.txt")


def main():
    faults, count = [], 0
    for path in tree.files(*CODE, ".md"):
        text = tree.read(path)
        count += 1
        if path.endswith(CODE) and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:3]):
            faults.append(f"{path}: no SPDX line at the top")
        if path.endswith((".c", ".h")) and "/*\n * " not in text[:400] and "/* " not in text[40:400]:
            faults.append(f"{path}: does not open with its story")
        for pattern, endings, folders, message, allowed in RULES:
            if not path.endswith(endings) or not path.startswith(folders) or path.endswith("check_words.py"):
                continue
            for number, line in enumerate(text.split("\n"), 1):
                if pattern.search(line) and not (allowed and allowed.search(line)):
                    faults.append(f"{path}:{number}: {message}")
    tree.finish("words", count, faults)


main()
