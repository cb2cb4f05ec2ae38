package contract

import (
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
)

func TestSumOfProgram(t *testing.T) {
	entry := []byte(`{"command": "x"}`)
	files := memfs.FS{"gate.sh": []byte("a"), "bin/gate": []byte("a")}
	for line, named := range map[string]string{
		"./gate.sh --x":                        "gate.sh",
		`"$CLAUDE_PROJECT_DIR"/bin/gate`:       "bin/gate",
		"${CLAUDE_PROJECT_DIR}/gate.sh|| true": "gate.sh",
		"sh 'bin/gate'; exit 0":                "bin/gate",
		"node ../gate.sh":                      "",
		"/gate.sh":                             "",
		"gate":                                 "",
	} {
		before := SumOfProgram(files, entry, line)
		for _, file := range []string{"gate.sh", "bin/gate"} {
			other := memfs.FS{"gate.sh": files["gate.sh"], "bin/gate": files["bin/gate"]}
			other[file] = []byte("b")
			if got, want := SumOfProgram(other, entry, line) != before, file == named; got != want {
				t.Errorf("%s: a change of %s is seen: %v, want %v", line, file, got, want)
			}
		}
		if SumOfProgram(files, []byte(`{}`), line) == before {
			t.Errorf("%s: a change of the entry is not seen", line)
		}
	}
}

func TestProgramAccepts(t *testing.T) {
	p, x := Program{Text: "./gate.sh"}, Exception{Subject: ir.SubjectRef{Role: "dev"}, Entry: "hook ./gate.sh"}
	other := Exception{Subject: x.Subject}
	all := Exception{Entry: x.Entry}
	if !p.Accepts(&x, "role dev") || p.Accepts(&x, "role ops") || p.Accepts(&other, "role dev") ||
		!p.Accepts(&all, "role ops") {
		t.Error("an exception accepts one program for one subject, or for all")
	}
}
