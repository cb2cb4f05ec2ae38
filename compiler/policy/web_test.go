package policy

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

func TestHosts(t *testing.T) {
	for arg, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.Com.": "example.com", "example.com:8080": "example.com", "a_b.example": "a_b.example",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"ｅｘａｍｐｌｅ．com": "example.com", "example。com": "example.com",
		"127.0.0.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "2130706433": "127.0.0.1", "0177.0.0.1": "127.0.0.1", "127.1": "127.0.0.1",
		"[::1]": "::1", "[::1]:443": "::1", "::1": "::1", "[0:0::1]": "::1", "[::ffff:127.0.0.1]": "127.0.0.1",
		"localhost": "localhost", "1password.com": "1password.com",
		"-X.com": "-x.com", "x-.com": "x-.com", "X-.Com": "x-.com", "R3---sn.example": "r3---sn.example", "-ü.de": "xn----eha.de",
		"10.0.0.0x": "10.0.0.0", "0X7F.1": "127.0.0.1",
		// no hosts
		"": "", "https://example.com": "", "a@b": "", "a b": "", "a/b": "", "..": "", "a..b": "", ".a": "", "a.b..": "", "a:x": "", "a:99999": "",
		"256.1.1.1": "", "1.2.3.4.5": "", "08.1": "", "[::1": "", "[::1]x": "", "fe80::1%eth0": "", "a\\b": "", "a%2eb": "", "a\x00": "", "℀.com": "", "\xff": "", "*": "",
	} {
		got, ok := Host(arg)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", arg, got, ok, want)
		}
	}
}

func TestWeb(t *testing.T) {
	s := mode(t, ir.Can{Web: table(allow("*.example.com", "bücher.example", "127.0.0.1"), deny("evil.example.com"))})
	for arg, d := range map[string]ir.Decision{
		"a.example.com": ir.Allow, "a.b.example.com": ir.Allow, "example.com": ir.Deny, "xexample.com": ir.Deny, "A.Example.COM.:443": ir.Allow,
		"evil.example.com": ir.Deny, "EVIL.example.com.": ir.Deny, "xn--bcher-kva.example": ir.Allow, "0x7f000001": ir.Allow,
		"a.example.com@evil.org": ir.Deny, "a.example.com/x": ir.Deny, "": ir.Deny,
	} {
		want(t, s, Action{Group: ir.Web, Arg: arg}, d)
	}
}

// What is no host matches no entry of a list.
func TestNoHost(t *testing.T) {
	for _, r := range []struct {
		name string
		can  *ir.Table
		d    ir.Decision
	}{
		{"a list", table(allow("a.org")), ir.Deny},
		{"at most ask", withDefault(table(allow("a.org")), ir.Allow), ir.Ask},
		{"deny where there is a deny", withDefault(table(deny("a.org")), ir.Allow), ir.Deny},
		{"ask where there is an ask", withDefault(table(ask("a.org")), ir.Allow), ir.Ask},
		{"a bare allow", bare(ir.Allow), ir.Allow},
		{"the entry *", table(allow("*")), ir.Allow},
		{"a bare deny", table(deny("!")), ir.Deny},
	} {
		if got := mode(t, ir.Can{Web: r.can}).Decide(Action{Group: ir.Web, Arg: "no host"}); got.Decision != r.d {
			t.Errorf("%s: got %s (%s), want %s", r.name, got.Decision, got.Rule, r.d)
		}
	}
}

func TestCheckHost(t *testing.T) {
	for text, want := range map[string]string{
		"example.com": "", "*.example.com": "", "*": "", "::1": "", "localhost": "",
		"":              `got "", want a host, "*.host" or "*"`,
		"https://a.org": `got "https://a.org", want a host without a scheme and a path`,
		"a.*.org":       `got "a.*.org", want a host, "*.host" (subdomains) or "*"`,
		"a.org:443":     `got "a.org:443", want a host without a port: every port is meant`,
		"a b":           `got "a b", want a host`,
		"*.127.0.0.1":   `got "*.127.0.0.1", want an address without "*."`,
	} {
		got := ""
		if err := CheckHost(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A pattern has one canonical text, which matches what the written one does.
func TestHostPattern(t *testing.T) {
	for text, want := range map[string]string{
		"*": "*", "Example.COM.": "example.com", "*.Example.COM.": "*.example.com", "bücher.de": "xn--bcher-kva.de", "*.bücher.de": "*.xn--bcher-kva.de",
		"XN--BCHER-kva.de": "xn--bcher-kva.de", "127.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "[::1]": "[::1]", "::1": "[::1]", "[0:0::1]": "[::1]", "[::ffff:127.0.0.1]": "127.0.0.1",
		"": "", "a.example.com..": "", "a..b": "", "08.1": "", "256.1.1.1": "", "1.2.3.4.5": "", "a b": "", "[::1": "", "*.127.1": "", "*.[::1]": "",
	} {
		got, err := HostPattern(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
		if again, err := HostPattern(got); want != "" && (again != got || err != nil) {
			t.Errorf("%q is %q, and that is %q (%v)", text, got, again, err)
		}
	}
}
