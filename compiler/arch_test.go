package compiler_test

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "modec.dev/modec/"

// layer is what the packages that match a pattern may depend on. A pattern is a path,
// a path and "/..." for everything below it as well, or one with "*" for a segment.
type layer struct {
	pkg string
	may []string
	cue cueUse
}

type cueUse bool

const (
	withoutCUE cueUse = false
	withCUE    cueUse = true
)

// The vocabulary, from the bottom up.
var (
	words      = []string{"compiler/secret", "compiler/diag", "compiler/memfs", "compiler/cache", "compiler/lazy"}
	model      = append(slices.Clip(words), "compiler/ir")
	patterns   = append(slices.Clip(model), "compiler/ecma", "compiler/regexlang")
	decisions  = append(slices.Clip(patterns), "compiler/policy")
	vocabulary = append(slices.Clip(decisions), "compiler/located", "compiler/layout", "compiler/contract")
	audited    = append(slices.Clip(vocabulary), "compiler/audit", "compiler/originals", "compiler/record")
)

// layers lists every package of the module once, in the direction
// diag ← ir ← policy ← contract ← {compiler, targets} ← cmd.
var layers = []layer{
	{pkg: "compiler/secret"},
	{pkg: "compiler/diag", may: []string{"compiler/secret"}},
	{pkg: "compiler/memfs"},
	{pkg: "compiler/cache"},
	{pkg: "compiler/lazy"},
	{pkg: "compiler/ecma"},
	{pkg: "compiler/regexlang", may: []string{"compiler/ecma"}},
	{pkg: "compiler/jsonedit"},
	{pkg: "compiler/textdiff"},
	{pkg: "compiler/located", may: []string{"compiler/secret", "compiler/diag", "compiler/lazy"}},
	{pkg: "compiler/record", may: []string{"compiler/secret", "compiler/diag"}},
	{pkg: "compiler/layout", may: []string{"compiler/secret", "compiler/diag", "compiler/lazy", "compiler/located"}},
	{pkg: "compiler/originals", may: []string{"compiler/secret", "compiler/diag", "compiler/record"}},
	{pkg: "compiler/accepted", may: []string{"compiler/secret", "compiler/diag", "compiler/originals", "compiler/record"}},
	{pkg: "compiler/pause", may: []string{"compiler/secret", "compiler/diag", "compiler/originals", "compiler/record"}},
	{pkg: "compiler/gittree", may: []string{"compiler/memfs"}},
	{pkg: "compiler/ir", may: words},
	{pkg: "compiler/audit", may: append(slices.Clip(model), "compiler/originals", "compiler/record")},
	{pkg: "compiler/audit/otlp", may: append(slices.Clip(model), "compiler/audit", "compiler/originals", "compiler/record")},
	{pkg: "compiler/policy", may: patterns},
	{pkg: "compiler/contract", may: append(slices.Clip(decisions), "compiler/layout", "compiler/located")},
	{pkg: "compiler/session", may: append(slices.Clip(vocabulary), "compiler/record")},

	// The stages know the vocabulary and the stages before them.
	{pkg: "compiler/pins", may: vocabulary},
	{pkg: "compiler/lint", may: append(slices.Clip(vocabulary), "compiler/pins")},
	{pkg: "compiler/config", may: append(slices.Clip(vocabulary), "compiler/lint", "compiler/pins")},
	{pkg: "compiler/source", may: append(slices.Clip(words), "cue"), cue: withCUE},
	{pkg: "compiler/shape", may: append(slices.Clip(vocabulary), "compiler/source", "cue"), cue: withCUE},
	{pkg: "compiler/resolve", may: append(slices.Clip(vocabulary), "compiler/source", "cue"), cue: withCUE},
	{pkg: "compiler/output", may: append(slices.Clip(vocabulary), "compiler/located", "compiler/jsonedit",
		"compiler/originals", "compiler/record")},
	{pkg: "compiler", may: []string{"compiler/...", "cue"}, cue: withCUE},

	// What asks the model.
	{pkg: "compiler/verify", may: vocabulary},
	{pkg: "compiler/diff", may: append(slices.Clip(vocabulary), "compiler/verify")},
	{pkg: "compiler/inventory", may: append(slices.Clip(vocabulary), "compiler/pins")},
	{pkg: "compiler/why", may: append(slices.Clip(vocabulary), "compiler/located", "compiler/textdiff")},
	{pkg: "compiler/render", may: append(slices.Clip(vocabulary), "compiler/inventory", "compiler/pins"), cue: withCUE},
	{pkg: "compiler/migrate", may: []string{"compiler/...", "cue"}, cue: withCUE},
	{pkg: "compiler/edit", may: []string{"compiler/...", "cue"}, cue: withCUE},
	{pkg: "compiler/explain", may: []string{"compiler/...", "cue"}, cue: withCUE},
	{pkg: "compiler/suggest", may: []string{"compiler/...", "cue"}, cue: withCUE},

	// How an agent decides, and what migrate understands of its files, share with the
	// emitter the format's parser and nothing else: one's mistake must not hide another's.
	// Of a hook the model runs the real entry point, as the agent does. The importer shares
	// the translation of an agent's rules with the emitter's dialect capability: both turn
	// what a person wrote into neutral rules, and the model judges what comes of it. An agent
	// that starts another one is judged and imported as that one.
	{pkg: "targets/*/format/...", may: append(slices.Clip(vocabulary), "compiler/located", "targets/*/format/...")},
	{pkg: "targets/*/hook", may: append(slices.Clip(vocabulary), "compiler/located", "targets/*/format/...")},
	{pkg: "targets/*/dialect", may: append(slices.Clip(vocabulary), "compiler/located", "targets/*/format/...")},
	{pkg: "targets/*/model", may: append(slices.Clip(vocabulary), "compiler/located", "targets/*/format/...",
		"targets/*/hook", "targets/*/model")},
	{pkg: "targets/*/importer", may: append(slices.Clip(vocabulary), "compiler/located", "targets/*/format/...",
		"targets/*/dialect", "targets/*/importer")},
	{pkg: "targets/mcp/gateway", may: append(slices.Clip(audited), "compiler/inventory", "compiler/pins",
		"targets/mcp/...")},
	{pkg: "targets/mcp/serve", may: append(slices.Clip(audited), "compiler/jsonedit", "targets/...")},
	{pkg: "targets/...", may: append(slices.Clip(vocabulary), "compiler/located", "compiler/jsonedit", "targets/...")},
	{pkg: "cue", cue: withCUE},
	{pkg: "cmd/modec/internal/page/console"},
	{pkg: "cmd/modec/internal/report", may: []string{"compiler/...", "cue"}, cue: withCUE},
	{pkg: "cmd/modec/internal/page", may: []string{"compiler/...", "targets/cursor/...", "cue",
		"cmd/modec/internal/report", "cmd/modec/internal/page/console"}, cue: withCUE},
	{pkg: "cmd/modec", may: []string{"compiler/...", "targets/...", "cue", "cmd/modec/..."}, cue: withCUE},
	{pkg: "cmd/...", may: []string{"compiler/...", "targets/...", "cue"}, cue: withCUE},
	{pkg: "golden"},
}

// TestDependencies holds the direction of dependencies, keeps CUE out of the targets,
// and fails for a package that no layer names.
func TestDependencies(t *testing.T) {
	for pkg, deps := range packages(t) {
		i := slices.IndexFunc(layers, func(l layer) bool { return matches(l.pkg, pkg) })
		if i < 0 {
			t.Errorf("%s is in no layer", pkg)
			continue
		}
		l := layers[i]
		for _, dep := range deps {
			own, ours := strings.CutPrefix(dep, module)
			switch {
			case strings.HasPrefix(dep, "cuelang.org/go") && l.cue == withoutCUE:
				t.Errorf("%s links %s", pkg, dep)
			case ours && own != pkg && !slices.ContainsFunc(l.may, func(m string) bool { return matches(m, own) }):
				t.Errorf("%s depends on %s", pkg, own)
			}
		}
	}
}

// matches reports whether a package is one of a pattern.
func matches(pattern, pkg string) bool {
	prefix, below := strings.CutSuffix(pattern, "/...")
	want, got := strings.Split(prefix, "/"), strings.Split(pkg, "/")
	if len(got) < len(want) || len(got) > len(want) && !below {
		return false
	}
	for i, w := range want {
		if w != "*" && w != got[i] {
			return false
		}
	}
	return true
}

// packages returns what each package of the module depends on, directly or not.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		all[strings.TrimPrefix(fields[0], module)] = fields[1:]
	}
	return all
}

// TestEmittersAreBlind holds that an emitter does not use the model or the importer of
// its agent: the package's target.go alone joins the three.
func TestEmittersAreBlind(t *testing.T) {
	files, err := filepath.Glob("../targets/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no targets", err)
	}
	for _, name := range files {
		if base := filepath.Base(name); base == "target.go" || strings.HasSuffix(base, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, im := range f.Imports {
			path, _ := strconv.Unquote(im.Path.Value)
			if strings.HasPrefix(path, module+"targets/") && (strings.HasSuffix(path, "/model") || strings.HasSuffix(path, "/importer")) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
