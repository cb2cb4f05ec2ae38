package model_test

import (
	"io/fs"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/hook"
	"modec.dev/modec/targets/gemini/model"
)

// TestHooks: what becomes of the hook in files that somebody edited. The policies permit everything here, so that only
// the hook holds the source.
func TestHooks(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.gemini]\n"),
		"modec/a.json": []byte(`{"roles": {"dev": {"can": {"edit": {"deny": ["docs/**"], "default": "allow"}}},
			"guest": {"can": {"edit": "deny"}}}}`)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const permits = "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 1\n"
	dev, guest := ir.SubjectRef{Role: "dev"}, ir.SubjectRef{Role: "guest"}
	own := format.SessionSettings(guest)
	const (
		entry = `"matcher": "*"`
		line  = "modec hook gemini ||"
		late  = `"timeout": 10000`
		hooks = `"hooks": {`
	)
	// beside returns how an entry is put in front of the first one.
	beside := func(entry string) string { return "\"BeforeTool\": [\n      " + entry + "," }
	const before = `"BeforeTool": [`
	const refuses = `modec hook gemini || { echo 'modec did not decide: the call is refused' >&2; exit 2; }`
	for _, c := range []struct {
		name     string
		ref      ir.SubjectRef
		file     string
		old, new string
		want     ir.Decision
		warns    string
	}{
		{name: "as it was written", ref: dev, want: ir.Deny},
		{name: "as it was written", ref: guest, want: ir.Deny},
		{name: "no hook", ref: dev, old: before, new: `"AfterTool": [`, want: ir.Allow},
		{name: "a hook that goes on", ref: dev, old: "exit 2", new: "exit 1", want: ir.Allow, warns: "goes on"},
		{name: "a hook without an end", ref: dev, old: refuses, new: "modec hook gemini", want: ir.Allow, warns: "let a call pass"},
		{name: "a hook without a text", ref: dev, old: refuses, new: "modec hook gemini || exit 2", want: ir.Deny},
		{name: "a hook of another agent", ref: dev, old: "hook gemini ||", new: "hook claude ||", want: ir.Deny, warns: "refuses"},
		{name: "a hook of nobody", ref: dev, old: line, new: "modec hook gemini --subject role:nobody ||", want: ir.Deny, warns: "refuses"},
		{name: "a hook of another role", ref: dev, old: line, new: "modec hook gemini --subject role:guest ||", want: ir.Deny},
		{name: "a hook of another folder", ref: dev, old: line, new: "modec hook gemini --root /x ||",
			want: ir.Allow, warns: "another folder"},
		{name: "a hook of a variable", ref: dev, old: line, new: "modec hook gemini --root ${X} ||", want: ir.Allow, warns: "not known"},
		{name: "a hook about some tools", ref: dev, old: entry, new: `"matcher": "read_.*"`, want: ir.Allow, warns: "some tools"},
		{name: "a hook about all tools", ref: dev, old: entry, new: `"matcher": " "`, want: ir.Deny},
		{name: "a hook that is late", ref: dev, old: late, new: `"timeout": 3000`, want: ir.Allow, warns: "let a call pass"},
		{name: "a hook with a time of no number", ref: dev, old: late, new: `"timeout": "1"`, want: ir.Allow, warns: "let a call pass"},
		{name: "a hook with a time that no timer has", ref: dev, old: late, new: `"timeout": 3000000000`,
			want: ir.Allow, warns: "let a call pass"},
		{name: "a hook with variables", ref: dev, old: late, new: late + `, "env": {"PATH": "."}`, want: ir.Allow, warns: "not known"},
		{name: "a hook of another kind", ref: dev, old: `"command",`, new: `"runtime",`, want: ir.Allow, warns: "not known"},
		{name: "the same line in front, late", ref: dev, old: before,
			new:  beside(`{"hooks": [{"type": "command", "command": "` + refuses + `", "timeout": 1}]}`),
			want: ir.Allow, warns: "let a call pass"},
		{name: "another program", ref: dev, old: before,
			new: beside(`{"hooks": [{"type": "command", "command": "./rewrite"}]}`), want: ir.Allow, warns: "not known"},
		{name: "hooks are off", ref: dev, old: hooks, new: `"hooksConfig": {"enabled": false}, ` + hooks, want: ir.Allow},
		{name: "hooks are off by a text", ref: dev, old: hooks, new: `"hooksConfig": {"enabled": ""}, ` + hooks, want: ir.Allow},
		{name: "hooks are on", ref: dev, old: hooks, new: `"hooksConfig": {"enabled": true}, ` + hooks, want: ir.Deny},
		{name: "the hook is off", ref: dev, old: hooks, new: `"hooksConfig": {"disabled": ["` + refuses + `"]}, ` + hooks, want: ir.Allow},
		{name: "the hook may be off", ref: dev, old: hooks, new: `"hooksConfig": {"disabled": ["$X"]}, ` + hooks, want: ir.Allow},
		{name: "another hook is off", ref: dev, old: hooks, new: `"hooksConfig": {"disabled": ["x"]}, ` + hooks, want: ir.Deny},

		{name: "a session's hook that goes on", ref: guest, file: own, old: "exit 2; }\"", new: "exit 1; }\"",
			want: ir.Allow, warns: "goes on"},
		{name: "a session's settings are gone", ref: guest, file: own, want: ir.Allow},
		{name: "hooks are off for a session", ref: guest, old: hooks, new: `"hooksConfig": {"enabled": false}, ` + hooks, want: ir.Allow},
		{name: "another program in a session", ref: guest, old: before,
			new: beside(`{"hooks": [{"type": "command", "command": "./rewrite"}]}`), want: ir.Allow, warns: "not known"},
		{name: "the project's hook is for another role", ref: dev, want: ir.Deny},
	} {
		t.Run(c.ref.Role+" "+c.name, func(t *testing.T) {
			files := memfs.FS{contract.PolicyFile: res.PolicyJSON()}
			for _, file := range []string{format.SettingsFile, own, format.SessionSettings(dev)} {
				data, err := fs.ReadFile(res.FS(), file)
				if err != nil {
					t.Fatal(err)
				}
				files[file] = data
			}
			for _, file := range []string{format.PolicyFile(dev), format.PolicyFile(guest),
				format.ProjectPolicy(format.PolicyFile(dev))} {
				files[file] = []byte(permits)
			}
			if c.file == "" {
				c.file = format.SettingsFile
			}
			if text := string(files[c.file]); c.old != "" {
				if !strings.Contains(text, c.old) {
					t.Fatalf("%s has no %q: %s", c.file, c.old, text)
				}
				files[c.file] = []byte(strings.Replace(text, c.old, c.new, 1))
			} else if c.file == own {
				delete(files, own)
			}
			list, diags := model.Open(files, contract.NewOptions(nil, map[string]any{"subject": "role:dev"}, nil), hook.Answer)
			if len(list) != 1 {
				t.Fatalf("got %d deciders, %v", len(list), diags)
			}
			v := list[0].Decide(c.ref, policy.Action{Group: ir.Edit, Arg: "docs/a"})
			if c.ref == dev { // its session has the hook, too: what the project has is looked at
				v = onlyProject(t, files, c.ref)
			}
			if v.Decision != c.want {
				t.Errorf("got %s by %q, want %s; %v", v.Decision, v.Rule, c.want, diags)
			}
			if off := strings.Contains(c.new, "hooksConfig") && c.want == ir.Allow; off != (v.Lack != nil) {
				t.Errorf("got the lack %v", v.Lack)
			}
			if c.want == ir.Deny && (v.Bare == nil || v.Bare.Decision != ir.Allow) {
				t.Errorf("got %v without the hook, want allow", v.Bare)
			}
			if found := strings.Contains(text(diags), c.warns); !found || c.warns == "" && len(diags) > 0 {
				t.Errorf("got %v, want %q", diags, c.warns)
			}
		})
	}
}

// onlyProject returns what a session decides that the project's own files hold alone.
func onlyProject(t *testing.T, files memfs.FS, ref ir.SubjectRef) contract.Verdict {
	t.Helper()
	delete(files, format.PolicyFile(ref))
	list, _ := model.Open(files, contract.NewOptions(nil, map[string]any{"subject": "role:" + ref.Role}, nil), hook.Answer)
	if len(list) != 1 {
		t.Fatalf("got %d deciders", len(list))
	}
	return list[0].Decide(ref, policy.Action{Group: ir.Edit, Arg: "docs/a"})
}

func text(diags interface{ Error() string }) string { return diags.Error() }
