# SPDX-License-Identifier: Apache-2.0
"""Checks habits with regular expressions: licence lines, opening comments, plain words, no volatile, no alloca, no
unfinished work."""
import re

import tree

PRODUCT = ("include/", "librip/", "ripd/")
EVERYWHERE = ("",)
# Each rule: pattern, file endings, folders, fault, pattern of lines where it is allowed.
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

# Words that the glossary replaces in comments, documents, messages and identifiers.
PLAIN = re.compile(
    r"(?<![a-z])(told|tells?|telling)(?![a-z])(?! apart)|whoever|own wish|what (of it )?is left|who asks|asks now|"
    r"(no|some|any|every)body's|newcomer|leisure|asking|(?<![a-z])wish(es|ed|ing)?(?![a-z])|chronicle|(?<!bread)crumb|"
    r"goes_on_at|(?<![a-z])doors?(?![a-z])|(?<![\w-])(he|him|his|lest|thereby)(?![\w-])|but for the(?![a-z])", re.I)
# Guarantees that do not begin on their own line ("... is kept. B. A second"), and their lines without indentation.
RUN_TOGETHER = re.compile(r"^ \*.*[.;:)] [B-Z]\. [A-Z]")
LETTERED = re.compile(r"^ \*   ([A-Z]|[0-9]+)\. ")
OUTDENTED = re.compile(r"^ \* [^ *]")
CODE = (".c", ".h", ".cc", ".hpp", ".py", ".sh", "CMakeLists.txt")


def guarantee_faults(path, text):
    in_guarantee = False
    for number, line in enumerate(text.split("\n"), 1):
        if RUN_TOGETHER.search(line) or (in_guarantee and OUTDENTED.search(line)):
            yield f"{path}:{number}: a guarantee begins a line, and its lines are indented: {line.strip()}"
        in_guarantee = bool(LETTERED.search(line)) or (in_guarantee and line.startswith(" *     "))


def plain_faults(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if PLAIN.search(line):
            yield f"{path}:{number}: a word that the glossary replaces: {line.strip()}"


def main():
    faults, count = [], 0
    for path in tree.files(*CODE, ".md", ".in", ".js", ".html", ".yml"):
        text = tree.read(path)
        count += 1
        if path.endswith(CODE) and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:3]):
            faults.append(f"{path}: no SPDX line at the top")
        if path.endswith((".c", ".h", ".hpp")) and "/*\n * " not in text[:400] and "/* " not in text[40:400]:
            faults.append(f"{path}: does not begin with a comment about the file")
        if not path.endswith("check_words.py"):
            faults += plain_faults(path, text)
        if path.endswith((".c", ".h", ".hpp")):
            faults += guarantee_faults(path, text)
        for pattern, endings, folders, message, allowed in RULES:
            if not path.endswith(endings) or not path.startswith(folders) or path.endswith("check_words.py"):
                continue
            for number, line in enumerate(text.split("\n"), 1):
                if pattern.search(line) and not (allowed and allowed.search(line)):
                    faults.append(f"{path}:{number}: {message}")
    tree.finish("words", count, faults)


main()
