package verify_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/verify"
)

// An entry in a file of somebody's own that opens what the source denies, asks about or guards is found where the group
// has too many combinations to be exact, too.
func TestEntriesOfSampledGroups(t *testing.T) {
	for target, file := range map[string]string{"opencode": ".opencode/opencode.json", "kilo": ".kilo/opencode.json"} {
		res := compileSource(t, "baseline = \"dev\"\n[targets."+target+"]\n", `{"roles": {"dev": {"description": "d",
			"can": {"edit": {"allow": ["src/**"], "ask": ["infra/"], "deny": [".env"], "default": "ask"}}}}}`)
		for i, pattern := range []string{"lib/x.go", "lib/*", "*.go", "*.tf", "deploy/*", "lib/.env", "a/b/.env",
			"*/prod.yaml", "k8s/*", "terraform/*", "*.sql", "migrations/*", "go.mod", "*.sh", "scripts/*", "Dockerfile",
			"lib*", "l*", "modec/extra.cue", "x/modec.toml", "sub/.mcp.json", "Makefile", ".github/*", "a*", "*x",
			"*.env", "modec/*", ".git/*", ".opencode/*", "opencode.json", "?*", "infra/prod.tf", "[x].go", "{a,b}.c"} {
			if testing.Short() && i%8 != 0 || target == "kilo" && pattern == "opencode.json" { // about which Kilo asks
				continue
			}
			disk := memfs.FS{}
			maps.Copy(disk, res.FS())
			disk[file] = fmt.Appendf(nil, `{"permission": {"edit": {%[1]q: "allow"}},
				"agent": {"dev": {"permission": {"edit": {%[1]q: "allow"}}}}}`, pattern)
			report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
			if report.Wider() == 0 {
				t.Errorf("%s: an entry that allows %q is not found", target, pattern)
			}
		}
	}
}

// A file of somebody's own that names the agent of every session is judged by that agent's rules.
func TestOwnDefaultAgent(t *testing.T) {
	for target, file := range map[string]string{"opencode": ".opencode/opencode.json", "kilo": ".kilo/opencode.json"} {
		res := compileSource(t, "baseline = \"dev\"\n[targets."+target+"]\n",
			`{"roles": {"dev": {"description": "d", "can": {"default": "deny", "read": "allow"}}}}`)
		for text, wider := range map[string]bool{
			`{"default_agent": "free", "agent": {"free": {"mode": "primary", "permission": {"*": "allow"}}}}`: true,
			`{"default_agent": "held", "agent": {"held": {"mode": "primary", "permission": {"*": "deny"}}}}`:  false,
			`{"agent": {"free": {"mode": "primary", "permission": {"*": "allow"}}}}`:                          false,
		} {
			disk := memfs.FS{}
			maps.Copy(disk, res.FS())
			disk[file] = []byte(text)
			report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
			if got := report.Wider() > 0; got != wider {
				t.Errorf("%s: wider is %v with %s", target, got, text)
			}
		}
	}
}

// A key of a tool that belongs to no group, or that no argument stands for, is found in a file of somebody's own,
// whatever it is called: in the rules of a session, and in those of a mode that the baseline turns to.
func TestKeysOfOwnTools(t *testing.T) {
	keys := []string{`"websearch": "allow"`, `"skill": "allow"`, `"skill": {"deploy": "allow"}`, `"mytool": "allow"`,
		`"mytool": "ask"`, `"my*": "allow"`, `"evil_get": "allow"`, `"external_directory": "allow"`}
	const can = `"can": {"read": "allow", "edit": "deny", "command": "deny", "web": "deny", "mcp": "deny", MODES "unknown": "deny"}`
	source := `{"roles": {"dev": {"description": "d", ` + strings.Replace(can, "MODES", `"modes": {"allow": ["arch"], "default": "deny"},`, 1) +
		`}}, "modes": {"arch": {"name": "A", "roleDefinition": "r", ` + strings.Replace(can, "MODES", `"modes": "deny",`, 1) + `}}}`
	for target, file := range map[string]string{"opencode": ".opencode/opencode.json", "kilo": ".kilo/opencode.json"} {
		res := compileSource(t, "baseline = \"dev\"\n[targets."+target+"]\n", source)
		if report, diags := res.Verify(t.Context(), 1, nil); report.Wider() > 0 {
			t.Fatal(diags)
		}
		of := keys
		if target == "kilo" {
			of = append(of, `"notebook_execute": "ask"`, `"notebook*": "allow"`, `"background_process": "allow"`)
		}
		for _, key := range of {
			for _, agent := range []string{"dev", "arch"} {
				disk := memfs.FS{}
				maps.Copy(disk, res.FS())
				disk[file] = fmt.Appendf(nil, `{"agent": {%q: {"permission": {%s}}}}`, agent, key)
				report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
				if wider := report.Wider() > 0; wider == (target == "opencode" && agent == "dev") {
					t.Errorf("%s: with %s of %s: wider is %t", target, key, agent, wider)
				}
			}
			disk := memfs.FS{}
			maps.Copy(disk, res.FS())
			disk[file] = fmt.Appendf(nil, `{"permission": {%s}}`, key)
			report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
			if wider := report.Wider() > 0; wider == (target == "kilo") { // an agent's "*" stands behind it
				t.Errorf("%s: with %s: wider is %t", target, key, wider)
			}
		}
	}
}

// An agent of Kilo's own that a later file turns on again is one to which a session may hand work, and a file before
// modec's turns on none.
func TestAgentsTurnedOnAgain(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.kilo]\n",
		`{"roles": {"dev": {"description": "d", "can": {"default": "deny", "read": "allow"}}}}`)
	for file, wider := range map[string]bool{".kilo/opencode.json": true, ".kilocode/kilo.json": false} {
		disk := memfs.FS{}
		maps.Copy(disk, res.FS())
		disk[file] = []byte(`{"agent": {"general": {"disable": false}, "dev": {"permission": {"task": {"general": "allow"}}}}}`)
		report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		if got := report.Wider() > 0; got != wider {
			t.Errorf("by %s: wider is %t", file, got)
		}
	}
}

// A file of somebody's own that takes back what modec's denies, or moves it before what allows, is named as the cause.
func TestCausesInOtherFiles(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.kilo]\n", `{"roles": {"dev": {"description": "d",
		"can": {"edit": {"allow": ["src/**"], "deny": ["*.pem"], "default": "ask"}}}}}`)
	for file, c := range map[string]struct{ permission, by string }{
		"kilo.jsonc":          {`{"*": "deny", "edit": {"*.pem": "deny"}}`, `since this key moves edit *.pem before it`},
		".kilo/opencode.json": {`{"edit": {"*.pem": null}}`, `since this null takes back edit *.pem`},
	} {
		disk := memfs.FS{}
		maps.Copy(disk, res.FS())
		disk[file] = fmt.Appendf(nil, `{"agent": {"dev": {"permission": %s}}}`, c.permission)
		report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		found := false
		for _, d := range diags {
			if d.Code == diag.Wider && d.Pos.File != "" {
				t.Errorf("%s: %v", file, d)
			}
			found = found || d.Code == diag.ForeignWidening && d.Pos.File == file && d.Pos.Line > 0
		}
		named := slices.ContainsFunc(report.Surfaces[0].Findings, func(f verify.Finding) bool {
			return f.At.File == file && strings.Contains(f.By, c.by)
		})
		if !found || !named {
			t.Errorf("%s: got %v, want the file named by %q", file, diags, c.by)
		}
	}
}

// A null takes back what modec's files say wherever it stands: of what is outside of the project, too, which Kilo then
// asks about, and of the agent with which sessions begin.
func TestNullsOfOwnFiles(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.kilo]\n", `{"roles": {"dev": {"description": "d",
		"can": {"default": "deny", "outside": "deny", "read": "allow", "edit": {"allow": ["src/**"]}, "command": {"allow": ["make"]}}}}}`)
	const file = ".kilo/opencode.json"
	for text, by := range map[string]string{ // "" where nothing is wider
		`{"agent": {"dev": {"permission": {"external_directory": null}}}}`:            "since this null takes back external_directory",
		`{"agent": {"dev": {"permission": {"*": null, "external_directory": null}}}}`: "since this null takes back *",
		`{"agent": {"dev": {"permission": null}}}`:                                    "since this null takes back *",
		`{"agent": {"dev": {"permission": {"read": null}}}}`:                          "",
		`{"agent": {"dev": null}}`:                                                    "", // Kilo goes on without it
	} {
		disk := memfs.FS{}
		maps.Copy(disk, res.FS())
		disk[file] = []byte(text)
		report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		named := slices.ContainsFunc(report.Surfaces[0].Findings, func(f verify.Finding) bool {
			return f.At.File == file && strings.Contains(f.By, by)
		})
		if (report.Wider() > 0) != (by != "") || by != "" && !named {
			t.Errorf("%s: %d are wider, want the file named by %q: %v", text, report.Wider(), by, diags)
		}
	}
	disk := memfs.FS{}
	maps.Copy(disk, res.FS())
	disk["kilo.json"] = []byte(`{"agent": {"a": {"permission": {"*": "allow"}}}}`)
	disk[file] = []byte(`{"default_agent": null}`)
	if report, _ := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk}); report.Wider() == 0 {
		t.Error("the agent with which a session begins without a name is not judged")
	}
}
