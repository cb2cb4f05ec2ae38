package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

// fixtures returns the sources whose subjects are verified with a memory here. The showcase has ten agents, which take
// most of the time and remember in the same way.
func fixtures() []string {
	list := []string{"promise", "mcp-restrictions", "gateway"}
	if !testing.Short() {
		list = append(list, "acme")
	}
	return list
}

func request(res *compiler.Result, m *verify.Memory) verify.Request {
	req := verify.Request{Policy: res.Policy, Targets: judgedTargets(res), Seed: 1, Memory: m}
	for i := range req.Targets {
		req.Targets[i].Files = res.FS()
	}
	return req
}

func report(t *testing.T, req verify.Request) string {
	t.Helper()
	r, err := verify.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run that remembers all subjects reports what the run before did, to the byte, and leaves
// nothing new.
func TestMemory(t *testing.T) {
	for _, name := range fixtures() {
		res := compile(t, name)
		without := report(t, request(res, nil))
		cold := verify.NewMemory("p", nil)
		if d := cmp.Diff(without, report(t, request(res, cold))); d != "" {
			t.Errorf("%s: without a memory, and with an empty one:\n%s", name, d)
		}
		if n, of := cold.Unchanged(); n != 0 || of == 0 {
			t.Errorf("%s: an empty memory knows %d of %d subjects", name, n, of)
		}
		data := cold.Bytes()
		warm := verify.NewMemory("p", data)
		if d := cmp.Diff(without, report(t, request(compile(t, name), warm))); d != "" {
			t.Errorf("%s: cold and warm:\n%s", name, d)
		}
		if n, of := warm.Unchanged(); n != of || of == 0 {
			t.Errorf("%s: it remembers %d of %d subjects", name, n, of)
		}
		if warm.Bytes() != nil {
			t.Errorf("%s: there is something new to remember", name)
		}
		t.Logf("%s: %d bytes", name, len(data))
	}
}

// What is damaged, or another program's, is not read.
func TestMemoryOfAnother(t *testing.T) {
	res := compile(t, "promise")
	m := verify.NewMemory("p", nil)
	report(t, request(res, m))
	data := m.Bytes()
	for name, m := range map[string]*verify.Memory{
		"another program":  verify.NewMemory("q", data),
		"a longer program": verify.NewMemory("", data),
		"nothing":          verify.NewMemory("p", []byte{}),
		"a part":           verify.NewMemory("p", data[:len(data)/2]),
		"more":             verify.NewMemory("p", append(slices.Clone(data), 0)),
		"a letter":         verify.NewMemory("p", flipped(data, len(data)/2)),
		"another form":     verify.NewMemory("p", flipped(data, 8)),
	} {
		report(t, request(res, m))
		if n, _ := m.Unchanged(); n != 0 {
			t.Errorf("%s: got %d subjects of it", name, n)
		}
	}
}

func flipped(data []byte, i int) []byte {
	data = slices.Clone(data)
	data[i] ^= 1
	return data
}

// Whatever changed since in the artifacts or in the source, a run that remembers the run before
// reports what one without a memory does.
func TestMemoryAfterChanges(t *testing.T) {
	each := 16
	if testing.Short() {
		each = 500
	}
	for _, name := range []string{"promise", "mcp-restrictions", "gateway"} {
		res := compile(t, name)
		l := &ledger{res: res, files: res.FS()}
		m := verify.NewMemory("p", nil)
		req := l.request(res.FS(), res.Policy)
		req.Memory = m
		report(t, req)
		data := m.Bytes()
		model, err := res.Project.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		files := append([]contract.File{{Path: contract.ModelFile, Data: model}}, res.Files()...)
		n, unchanged, subjects := 0, 0, 0
		for _, f := range files {
			for _, x := range mutants(t, f.Path, f.Data) {
				if n++; n%each != 0 {
					continue
				}
				disk, e := maps.Clone(res.FS()), res.Policy
				if disk[x.file] = x.data; f.Path == contract.ModelFile {
					p, err := ir.Unmarshal(bytes.NewReader(x.data))
					if err != nil {
						continue
					}
					disk, e = res.FS(), policy.New(p)
				}
				req := l.request(disk, e)
				cold, err := verify.Run(t.Context(), req)
				if err != nil {
					continue // a source that does not compile
				}
				req.Memory = verify.NewMemory("p", data)
				warm, err := verify.Run(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(cold, warm, cmpopts.IgnoreUnexported(verify.Finding{})); d != "" {
					t.Errorf("%s: cold and warm:\n%s", x, d)
				}
				same, of := req.Memory.Unchanged()
				unchanged, subjects = unchanged+same, subjects+of
			}
		}
		t.Logf("%s: %d of %d subjects were unchanged", name, unchanged, subjects)
	}
}

// A line that is added above the rules changes no subject, and moves what is reported.
func TestMemoryMoves(t *testing.T) {
	for _, name := range fixtures() {
		m := verify.NewMemory("p", nil)
		before := report(t, request(compile(t, name), m))
		files := memfs.FS{}
		root := os.DirFS("../../fixtures/" + name)
		err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, p)
			if path.Ext(p) == ".cue" {
				data = append([]byte("// A line.\n"), data...)
			}
			files[p] = data
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All(), Today: today})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		warm := verify.NewMemory("p", m.Bytes())
		cold, got := report(t, request(res, nil)), report(t, request(res, warm))
		if d := cmp.Diff(cold, got, cmpopts.IgnoreUnexported(verify.Finding{})); d != "" {
			t.Errorf("%s: cold and warm:\n%s", name, d)
		}
		if cold == before {
			t.Errorf("%s: the line changes nothing", name)
		}
		if n, of := warm.Unchanged(); n < of {
			t.Errorf("%s: %d of %d subjects are unchanged", name, n, of)
		}
	}
}

// A memory that is written again and again, each time with one subject more that changed, is as good as one that is
// written anew, and stays small.
func TestMemoryStays(t *testing.T) {
	var data []byte
	first := 0
	for n := range 30 {
		files := memfs.FS{
			"modec.toml": []byte("[targets.roo]\n[targets.claude]\n[targets.model]\n"),
			"modec/all.cue": fmt.Appendf(nil, `package modec
modes: {
	code: {name: "Code", roleDefinition: "R", can: {edit: "allow", command: {allow: ["job%[1]d *"], default: "ask"}}}
	docs: {name: "Docs", roleDefinition: "R", can: {edit: {allow: ["*.md", "d%[1]d/*e*/**"]}, command: "deny"}}
	plan: {name: "Plan", roleDefinition: "R", can: read: {allow: ["**"], deny: [".env"]}}
}
`, n)}
		compiled := func() *compiler.Result {
			res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All(), Today: today})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			return res
		}
		m := verify.NewMemory("p", data)
		cold, warm := report(t, request(compiled(), nil)), report(t, request(compiled(), m))
		if cold != warm {
			t.Errorf("run %d: cold and warm:\n%s", n, cmp.Diff(cold, warm))
		}
		if same, of := m.Unchanged(); n > 0 && (same == 0 || same == of) {
			t.Errorf("run %d: %d of %d subjects are unchanged", n, same, of)
		}
		data = m.Bytes()
		if again := verify.NewMemory("p", data); cold != report(t, request(compiled(), again)) || again.Bytes() != nil {
			t.Errorf("run %d: what it left does not say what it found", n)
		}
		if n == 0 {
			first = len(data)
		}
		if 4*len(data) > 5*first {
			t.Errorf("run %d: a memory of %d bytes, of %d at first", n, len(data), first)
		}
	}
}

// After one mode changed, no more is compared than the mode, and each role in it: with hooks, too, whose digests are of
// all modes.
func TestMemoryOfOneMode(t *testing.T) {
	for _, target := range targets.All() {
		name := target.Name()
		compiled := func(program string) *compiler.Result {
			config := "baseline = \"one\"\n[targets." + name + "]\n"
			if name == "mcpnest" {
				config += "servers = [\"shop\"]\n"
			}
			files := memfs.FS{
				"modec.toml": []byte(config),
				"modec/all.cue": []byte(`package modec
servers: shop: {command: "shop", tools: {get: {}, put: {}}}
modes: {
	code: {name: "Code", roleDefinition: "R", can: {edit: {allow: ["src/**"]}, command: {allow: ["` + program + ` *"]}}}
	docs: {name: "Docs", roleDefinition: "R", can: {edit: {allow: ["*.md"]}, command: "deny"}}
	plan: {name: "Plan", roleDefinition: "R", can: read: {allow: ["**"], deny: [".env"]}}
}
roles: {
	one: can: {read: deny: ["a/**"], edit: {deny: [".ci/**"], default: "ask"}, command: default: "ask", mcp: shop: allow: ["get"]}
	two: can: {read: deny: ["b/**"], edit: {deny: ["x/**"], default: "ask"}, command: {allow: ["make"], default: "ask"}}
}
`),
			}
			res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All(), Today: today})
			if diags.HasErrors() {
				t.Fatal(name, diags)
			}
			return res
		}
		m := verify.NewMemory("p", nil)
		report(t, request(compiled("npm test"), m))
		after := compiled("go test")
		warm := verify.NewMemory("p", m.Bytes())
		if cold, got := report(t, request(after, nil)), report(t, request(after, warm)); cold != got {
			t.Errorf("%s: cold and warm:\n%s", name, cmp.Diff(cold, got))
		}
		if same, of := warm.Unchanged(); of > 0 && of-same > 3 {
			t.Errorf("%s: %d of %d subjects are unchanged", name, same, of)
		}
	}
}
