package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

var update = flag.Bool("update", false, "rewrite ../e2e/testdata/decide.json")

// e2eCall is a tool call that the real agent is asked about. ROOT in its input
// is the project's folder.
type e2eCall struct {
	Name  string         `json:"name"`
	Input map[string]any `json:"input"`
	// Action is what the call does, as modec explain writes it.
	Action string `json:"action"`
	action policy.Action
}

// e2eSubject is a session with what is decided of each call: by the source, by
// the decider with the hooks, without them, and for the flags of set_roles.
type e2eSubject struct {
	Role    string   `json:"role,omitempty"`
	Agent   string   `json:"agent,omitempty"`
	Servers []string `json:"servers"`
	Flags   []string `json:"flags,omitempty"`

	Source      string `json:"source"` // for each call: a allow, k ask, d deny
	WithHooks   string `json:"withHooks"`
	WithoutHook string `json:"withoutHooks"`
	ByFlags     string `json:"byFlags,omitempty"`
}

func e2eCalls() []e2eCall {
	var calls []e2eCall
	add := func(name string, a policy.Action, input map[string]any) {
		written := string(a.Group) + " " + strings.TrimPrefix(a.Server+":"+a.Arg, ":")
		calls = append(calls, e2eCall{name, input, written, a})
	}
	for _, line := range []string{
		"ls -la", "pwd", "git status", "git log --oneline", "git diff", "git log --output=x", "git push origin main",
		"git push --force origin main", "git push x -f",
		"sudo id", "sh -c 'sudo id'", "/usr/bin/sudo id", "git status && ls", "git status && foo", "ls > out.txt",
		"cat README.md", "cat .env", "echo $(id)", "FOO=1 npm test",
		"terraform apply", "FOO=1 terraform apply", "mkdir made", "touch infra/x", "md5sum README.md", "seq 3",
		"foo 'a", "(foo)", "timeout 5 ls", "nice ls",
	} {
		add("Bash", policy.Action{Group: ir.Command, Arg: line}, map[string]any{"command": line})
	}
	written := func(p string) string {
		if strings.HasPrefix(p, "/") {
			return p
		}
		return "ROOT/" + p
	}
	for _, p := range []string{"README.md", ".env", "sub/.env", "secrets/key.txt", "/etc/hostname", "db/x.PEM"} {
		add("Read", policy.Action{Group: ir.Read, Arg: p}, map[string]any{"file_path": written(p)})
	}
	for _, p := range []string{"docs/n.md", "src/n.ts", ".env.local", "modec/n.cue", "infra/n.tf", "reports/n.txt",
		"db/migrations/applied/n.sql", ".claude/n", "../n.txt", "DOCS/n.md"} {
		add("Write", policy.Action{Group: ir.Edit, Arg: p}, map[string]any{"file_path": written(p), "content": "x\n"})
	}
	for _, h := range []string{"docs.acme.example", "example.invalid", "pastebin.com"} {
		add("WebFetch", policy.Action{Group: ir.Web, Arg: h},
			map[string]any{"url": "https://" + h + "/", "prompt": "x"})
	}
	for _, t := range [][2]string{
		{"github", "get_issue"}, {"github", "create_issue"}, {"github", "delete_branch"}, {"shop", "refund_order"},
		{"shop", "get_order"}, {"admin", "list_users"}, {"docs", "search_docs"}, {"browser", "browser_evaluate"},
	} {
		add("mcp__"+t[0]+"__"+t[1], policy.Action{Group: ir.MCP, Server: t[0], Arg: t[1]}, map[string]any{})
	}
	for _, m := range []string{"ask", "code"} {
		add("Agent", policy.Action{Group: ir.Modes, Arg: m},
			map[string]any{"description": "x", "prompt": "x", "subagent_type": m})
	}
	add("CronCreate", policy.Action{Group: ir.Unknown, Arg: "CronCreate"},
		map[string]any{"cron": "7 3 1 1 *", "prompt": "x", "recurring": false})
	return calls
}

// goldenTree is what claude and the policy emit for the golden case acme.
func goldenTree(t *testing.T, golden string) memfs.FS {
	t.Helper()
	tree := memfs.FS{}
	for _, dir := range []string{"claude", "modec"} {
		below := os.DirFS(filepath.Join(golden, dir))
		err := fs.WalkDir(below, ".", func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				at := p
				if name, ok := strings.CutPrefix(p, "session/"); ok {
					at = contract.SessionPath("claude", name)
				}
				tree[at], err = fs.ReadFile(below, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tree[contract.PolicyFile] = tree["policy.json"]
	return tree
}

// e2eSubjects are the roles and then the modes of a decider.
func e2eSubjects(d *decider, flags map[string][]string) (subjects []e2eSubject) {
	roles, modes := map[string]bool{}, map[string]bool{}
	for ref := range d.sessions {
		roles[ref.Role], modes[ref.Mode] = true, true
	}
	delete(roles, "")
	delete(modes, "")
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		subjects = append(subjects, e2eSubject{Role: role, Flags: flags[role]})
	}
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		subjects = append(subjects, e2eSubject{Agent: mode})
	}
	return subjects
}

// byFlags is the session of a subject's flags, nil where it has none.
func (s *e2eSubject) byFlags(t *testing.T) *Session {
	t.Helper()
	if s.Flags == nil {
		return nil
	}
	session, _, err := OpenArgs(memfs.FS{}, append(slices.Clip(s.Flags), "--strict-mcp-config"), diag.Pos{})
	if err != nil {
		t.Fatal(err)
	}
	session.s.servers = s.Servers
	return session
}

// TestDecideE2E keeps ../e2e/testdata/decide.json fresh: the calls about which
// ../e2e/decide.test.mjs asks the real agent, and what the deciders answer.
func TestDecideE2E(t *testing.T) {
	golden := filepath.Join("..", "..", "..", "golden", "acme")
	tree := goldenTree(t, golden)
	p, err := ir.Unmarshal(bytes.NewReader(tree[contract.PolicyFile]))
	if err != nil {
		t.Fatal(err)
	}
	source := policy.New(p)
	deciders, diags := Open(tree, p.Baseline)
	if len(diags) > 0 {
		t.Errorf("the agent would leave out of what is emitted:\n%s", diags.Error())
	}
	d := deciders[0].(*decider)
	calls := e2eCalls()
	subjects := e2eSubjects(d, e2eFlags(t, filepath.Join(golden, "thurbox", ".thurbox", "set_roles.json")))
	for i := range subjects {
		s := &subjects[i]
		ref := ir.SubjectRef{Role: s.Role, Mode: s.Agent}
		s.Servers = d.of(ref).servers
		byPolicy, err := source.Subject(ref)
		if err != nil {
			t.Fatal(err)
		}
		byFlags := s.byFlags(t)
		for _, c := range calls {
			want, v := byPolicy.Decide(c.action).Decision, d.Decide(ref, c.action)
			s.Source += letter(want)
			s.WithHooks += letter(does(v))
			s.WithoutHook += letter(doesBare(v))
			if byFlags != nil {
				s.ByFlags += letter(does(byFlags.Decide(c.action)))
			}
			refusable := want > ir.Deny || v.Governs&contract.Access != 0
			if v.Decision > want && refusable {
				t.Errorf("%s, %s: got %s by %s, and the source says %s", ref, c.Action, v.Decision, v.Rule, want)
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(map[string]any{"calls": calls, "subjects": subjects}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("..", "e2e", "testdata", "decide.json")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if had, err := os.ReadFile(name); err != nil || !bytes.Equal(had, b.Bytes()) {
		t.Errorf("%s is not what the deciders say (%v): run go test ./targets/claude/model -update", name, err)
	}
}

func letter(d ir.Decision) string { return string("dka-"[d]) }

// e2eFlags are the flags of the roles that Thurbox stores.
func e2eFlags(t *testing.T, name string) map[string][]string {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Roles []struct {
			Name    string
			Mode    string   `json:"permission_mode"`
			Allowed []string `json:"allowed_tools"`
			Denied  []string `json:"disallowed_tools"`
			Tools   *string
		}
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	flags := map[string][]string{}
	for _, r := range stored.Roles {
		args := []string{"--permission-mode", cmp.Or(r.Mode, "default")}
		for i, rules := range [][]string{r.Allowed, r.Denied} {
			if len(rules) > 0 {
				args = append(args, []string{"--allowed-tools", "--disallowed-tools"}[i], strings.Join(rules, " "))
			}
		}
		if r.Tools != nil {
			args = append(args, "--tools", *r.Tools)
		}
		flags[r.Name] = args
	}
	return flags
}
