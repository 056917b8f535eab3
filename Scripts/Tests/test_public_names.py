"""The list of public names contains exactly the names that users of the libraries can see."""

import importlib.util
import pathlib
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("public_names", SCRIPTS / "public-names.py")
names = importlib.util.module_from_spec(spec)
spec.loader.exec_module(names)


class Declarations(unittest.TestCase):
    def names(self, text):
        return [name for name, _ in names.public_names(text)]

    def test_types_are_listed_with_their_owners(self):
        text = """
            public struct A: Sendable {
                public enum B { case c }
                struct Hidden { public struct E {} }
            }
            extension A.B {
                @frozen public struct D {}
            }
            package final class P { public func f() {} }
        """
        self.assertEqual(self.names(text), ["A", "A.B", "A.Hidden.E", "A.B.D"])

    def test_members_and_bodies_are_not_listed(self):
        text = """
            public final class A {
                public static let shared = A()
                public func f(_ type: Any.Type) { struct Local {}; if true { enum Inner {} } }
                public var x: Int { 1 }
            }
        """
        self.assertEqual(self.names(text), ["A"])

    def test_functions_and_variables_at_top_level_are_listed(self):
        text = "public func f() {}\npublic let x = 1\nlet y = 2\n@inlinable public func g() { let z = 1 }\n"
        self.assertEqual(self.names(text), ["f", "x", "g"])

    def test_comments_and_strings_are_ignored(self):
        text = '''
            // public struct A {
            /* public struct B { /* nested { */ } { */
            let text = "public struct C { \\(f("}")) {"
            let raw = #"{ "quoted" \\ {"#
            let lines = """
                public struct D {
                "quoted"
                """
            public struct E {}
        '''
        self.assertEqual(self.names(text), ["E"])


class Documentation(unittest.TestCase):
    def undocumented(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for index, text in enumerate(texts):
                (root / f"{index}.swift").write_text(text)
            return [line.split(" ")[1] for line in names.without_comment(root, [root])]

    def test_members_cases_and_requirements_need_a_comment(self):
        self.assertEqual(self.undocumented("""
            @_exported public import struct Core.Struct
            /// A.
            public struct A {
                public init(
                    _ x: Int) {}
                public var x: Int { 1 }
                /// Known.
                @inlinable
                public func f() { func local() {} }
                var hidden = 1
                public subscript(_ x: Int) -> Int { x }
            }
            /// P.
            public protocol P {
                func f()
                associatedtype T
            }
            /// E.
            public enum E {
                case a(Int), b
                /// Known.
                case c
                case d // E.
            }
        """), ["A.init", "A.x", "A.subscript", "P.f", "P.T", "E.a", "E.d"])

    def test_members_of_hidden_types_need_none(self):
        self.assertEqual(self.undocumented("""
            struct A: Hashable { public func f() {} }
            extension A { public static func g() {} }
            extension Array { public func h() {} }
        """, "extension A { public func i() {} }"), ["Array.h"])

    def test_members_that_a_protocol_documents_need_none(self):
        self.assertEqual(self.undocumented("""
            extension A: Hashable { public static func == (a: A, b: A) -> Bool { true } }
            extension A: @unchecked Sendable, Q {
                public func f() {}
                public func g() {}
            }
            /// P.
            public protocol P {
                /// F.
                func f()
            }
            /// Q.
            public protocol Q: P {}
        """), ["A.g"])

    def test_lines_after_comments_and_long_strings_are_counted(self):
        text = '/// A.\nlet a = """\n  {\n  """\n/* { \n*/\npublic let b = 1\n'
        self.assertEqual([found.line for found in names.declarations(text)], [2, 7])


class Libraries(unittest.TestCase):
    def sections(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return names.sections(root)

    def test_inflight_has_what_it_exports(self):
        sections = self.sections({
            "Package.swift": '.library(name: "Inflight", …)\n.library(name: "InflightCore", …)\n',
            "Sources/Engine/Inflight/Inflight.swift": (
                "@_exported public import struct InflightCore.A\npublic import InflightCore\npublic struct Own {}\n"),
            "Sources/Engine/InflightCore/A.swift": (
                "public struct A {}\npublic struct B {}\nstruct C {}\n"
                "extension A { public struct D: AsyncSequence { public typealias Element = Int } }\n"
                "extension B { public struct E {} }\nextension C { public struct F {} }\n"),
        })
        self.assertEqual(sorted(sections["Inflight"]), ["A", "A.D", "Own"])
        self.assertEqual(sorted(sections["InflightCore"]), ["A", "A.D", "B", "B.E"])
        self.assertEqual(names.counts(sections["Inflight"]), (2, 3))

    def test_a_change_and_a_limit_are_reported(self):
        sections = {"Inflight": {f"T{number}": "struct" for number in range(54)}}
        listed = names.rendered(sections)
        self.assertEqual(list(names.problems(sections, listed)), [])
        sections["Inflight"]["More"] = "enum"
        problems = list(names.problems(sections, listed))
        self.assertIn("the limit is 54", problems[0])
        self.assertIn("+    More", problems[1])


if __name__ == "__main__":
    unittest.main()
