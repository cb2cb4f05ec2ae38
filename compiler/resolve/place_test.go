package resolve_test

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/resolve"
)

// What has an order comes first, by its order; the rest follows by name. It is not inherited,
// and nor are targets.
func TestOrder(t *testing.T) {
	p, diags := resolved(map[string]string{"a.yaml": `
servers: {a: {command: a}, c: {command: c, order: 10}, b: {command: b, order: 20}, d: {command: d, order: 10}}
modes:
  z: {name: Z, roleDefinition: r, order: -1, targets: [claude]}
  b: {name: B, roleDefinition: r}
  a: {name: A, extends: [z], roleDefinition: r}
roles: {b: {}, a: {}, c: {order: 0}}
`}, resolve.Settings{Known: []string{"claude"}})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	var servers []string
	for _, s := range p.Servers {
		servers = append(servers, s.Name)
	}
	if want := []string{"c", "d", "b", "a"}; !slices.Equal(servers, want) {
		t.Errorf("got the servers %q, want %q", servers, want)
	}
	if got, want := p.ModeNames(), []string{"z", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got the modes %q, want %q", got, want)
	}
	if got, want := p.RoleNames(), []string{"c", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got the roles %q, want %q", got, want)
	}
	if a := p.Mode("a"); a.Order != nil || a.Targets != nil || p.Server("b") == nil {
		t.Errorf("got %+v", a.Place)
	}
}
