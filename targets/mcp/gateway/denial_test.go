package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler/ir"
)

// What is denied has the answer of what does not exist, to the letter, or where the gateway is explicit that of a denial
// with its rule and place. No list shows it, and what nobody denies stays unknown.
func TestDenial(t *testing.T) {
	for _, era := range eras {
		for _, explicit := range []bool{false, true} {
			f := offering(t, []string{"a", "b", "c", "new"}, []string{"p"}, []string{"res://r"}, nil)
			g := faked(t, engine(t, audited), Options{Subject: ir.SubjectRef{Role: "r"}, Explicit: explicit}, map[string]*fake{"s": f})
			w := dial(t, g, era, object{})
			if got := fmt.Sprint(w.listed(tools), w.listed(prompts)); got != "[s_a s_b] []" {
				t.Errorf("%s explicit=%t: got the lists %s", era, explicit, got)
			}
			refused := func(method, name string) string {
				t.Helper()
				m := w.call(method, object{"name": name})
				e, ok := m["error"].(object)
				if !ok {
					t.Fatalf("%s %s: got %v", method, name, m)
				}
				return fmt.Sprintf("%v %v", e["code"], e["message"])
			}
			for _, c := range []struct{ method, name, hidden, explicit string }{
				{"tools/call", "s_c", `-32602 unknown tool "s_c"`, `-32600 tool "s_c" is denied to role r: deny "c" of server "s", modec/a.json:2:`},
				{"prompts/get", "s_p", `-32602 unknown prompt "s_p"`, `-32600 prompt "s_p" is denied to role r: prompts of server "s", modec/a.json:3:`},
				{"tools/call", "s_new", `-32602 unknown tool "s_new"`, ""},
				{"tools/call", "s_gone", `-32602 unknown tool "s_gone"`, ""},
				{"tools/call", "other", `-32602 unknown tool "other"`, ""},
				{"prompts/get", "other", `-32602 unknown prompt "other"`, ""},
			} {
				want := c.hidden
				if explicit && c.explicit != "" {
					want = c.explicit
				}
				if got := refused(c.method, c.name); got != want && (!explicit || c.explicit == "" || !strings.HasPrefix(got, want)) {
					t.Errorf("%s explicit=%t: %s %s: got %s, want %s", era, explicit, c.method, c.name, got, want)
				}
			}
		}
	}
}

// Who calls a gateway for many that is explicit is told what its own roles deny, and no more of a role that it does not
// have.
func TestSharedDenial(t *testing.T) {
	b := newBackend(t)
	o := newOffice(t, engine(t, people(b.URL)), func(o *SharedOptions) { o.Explicit = true })
	v := o.visit(t, "/mcp", o.tokens.of(t, "ann", time.Hour, "dev"), eras[1])
	_, m, _, err := v.send("tools/call", object{"name": "s_drop", "arguments": object{}})
	if text := fmt.Sprint(m["error"]); err != nil || !strings.Contains(text, `tool "s_drop" is denied to dev: `) {
		t.Errorf("got %v %v", m, err)
	}
	if code, m, _, _ := o.visit(t, "/mcp/ops", v.token, eras[1]).send("tools/list", nil); code != 404 {
		t.Errorf("got %d %v", code, m)
	}
}
