package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"modec.dev/modec/compiler/ir"
)

// maxHost is the longest host that is looked at (253 bytes in the DNS, more
// before IDNA).
const maxHost = 1024

// CheckHost reports why a text is not a host pattern: "host", "*.host" for its
// subdomains, or "*".
func CheckHost(text string) error {
	_, err := parseHost(text)
	return err
}

// HostPattern returns the canonical text of a host pattern: as browsers and agents compare hosts,
// in lower case, ASCII and without a trailing dot, an IP address as it is written canonically
// and one of version 6 in brackets. It fails where [CheckHost] does.
func HostPattern(text string) (string, error) {
	p, err := parseHost(text)
	switch {
	case err != nil:
		return "", err
	case p.all:
		return "*", nil
	case p.sub != "":
		return "*" + p.sub, nil
	case strings.Contains(p.host, ":"):
		return "[" + p.host + "]", nil
	}
	return p.host, nil
}

// hostPattern matches every host, the subdomains of one, or one.
type hostPattern struct {
	all  bool
	sub  string // ".example.com"
	host string
}

func parseHost(text string) (hostPattern, error) {
	if text == "*" {
		return hostPattern{all: true}, nil
	}
	if err := notATool(ir.Web, text); err != nil {
		return hostPattern{}, err
	}
	bare, sub := strings.CutPrefix(text, "*.")
	host, domain := strings.CutPrefix(text, "domain:")
	switch {
	case domain && host != "":
		return hostPattern{}, fmt.Errorf("got %q, want a host alone: write %q", text, host)
	case text == "":
		return hostPattern{}, errors.New(`got "", want a host, "*.host" or "*"`)
	case strings.Contains(text, "://"):
		return hostPattern{}, fmt.Errorf("got %q, want a host without a scheme and a path", text)
	case strings.Contains(bare, "*"):
		return hostPattern{}, fmt.Errorf(`got %q, want a host, "*.host" (subdomains) or "*"`, text)
	}
	var ok bool
	if host, ok = Host(bare); !ok {
		return hostPattern{}, fmt.Errorf("got %q, want a host", text)
	}
	if port := hostPort(bare); port != "" {
		return hostPattern{}, fmt.Errorf("got %q, want a host without a port: every port is meant", text)
	}
	if _, err := netip.ParseAddr(host); sub && err == nil {
		return hostPattern{}, fmt.Errorf("got %q, want an address without %q", text, "*.")
	}
	if sub {
		return hostPattern{sub: "." + host}, nil
	}
	return hostPattern{host: host}, nil
}

func (p *hostPattern) match(host string) bool {
	switch {
	case p.all:
		return true
	case p.sub != "":
		return len(host) > len(p.sub) && strings.HasSuffix(host, p.sub)
	}
	return host == p.host
}

// Host returns the form in which hosts are compared: lower case, ASCII (IDNA),
// IP addresses as they are written canonically (so that 0x7f.1 and
// [::ffff:127.0.0.1] are 127.0.0.1), without a port and a trailing dot. It
// reports false for an argument that is not a host; a URL is none.
func Host(arg string) (string, bool) {
	if arg == "" || len(arg) > maxHost || !utf8.ValidString(arg) {
		return "", false
	}
	if strings.HasPrefix(arg, "[") || strings.Count(arg, ":") > 1 {
		return address(arg)
	}
	if i := strings.IndexByte(arg, ':'); i >= 0 {
		if !isPort(arg[i+1:]) {
			return "", false
		}
		arg = arg[:i]
	}
	if arg = lowerASCII(arg); !isHost(arg) {
		profile := idna.New(
			idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false),
			idna.BidiRule())
		ascii, err := profile.ToASCII(arg)
		if err != nil {
			return "", false
		}
		if arg = ascii; !isHost(strings.TrimSuffix(arg, ".")) {
			return "", false
		}
	}
	arg = strings.TrimSuffix(arg, ".")
	if arg == "" || strings.HasPrefix(arg, ".") || strings.HasSuffix(arg, ".") || strings.Contains(arg, "..") {
		return "", false
	}
	if isDigit(arg[strings.LastIndexByte(arg, '.')+1]) {
		if ip, numeric := ipv4(arg); numeric {
			return ip, ip != ""
		}
	}
	return arg, true
}

// isHost reports whether a host is in its final form but for a trailing dot.
func isHost(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 'a' || 'z' < c) && !isDigit(c) && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

// address reads an IPv6 address, in brackets where a port follows.
func address(arg string) (string, bool) {
	if rest, ok := strings.CutPrefix(arg, "["); ok {
		in, port, ok := strings.Cut(rest, "]")
		if !ok || port != "" && (port[0] != ':' || !isPort(port[1:])) {
			return "", false
		}
		arg = in
	}
	ip, err := netip.ParseAddr(arg)
	if err != nil || !ip.Is6() || ip.Zone() != "" {
		return "", false
	}
	return ip.Unmap().String(), true
}

func hostPort(arg string) string {
	if strings.HasPrefix(arg, "[") {
		_, port, _ := strings.Cut(arg, "]:")
		return port
	}
	if strings.Count(arg, ":") == 1 {
		_, port, _ := strings.Cut(arg, ":")
		return port
	}
	return ""
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil || s == ""
}

// ipv4 reads the forms that the WHATWG URL standard takes for an IPv4 address:
// one to four numbers, decimal, octal or hexadecimal, the last filling what is
// left. numeric is set when the last label is a number; ip is then "" when the
// whole is no address.
func ipv4(s string) (ip string, numeric bool) {
	labels := strings.Split(s, ".")
	if _, ok := number(labels[len(labels)-1]); !ok {
		last := labels[len(labels)-1]
		return "", strings.Trim(last, "0123456789") == ""
	}
	if len(labels) > 4 {
		return "", true
	}
	var value uint64
	for i, l := range labels {
		n, ok := number(l)
		limit := uint64(256)
		if i == len(labels)-1 {
			limit = 1 << (8 * (5 - len(labels)))
		}
		if !ok || n >= limit {
			return "", true
		}
		if i == len(labels)-1 {
			value |= n
		} else {
			value |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}).String(), true
}

func number(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
		if s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// hostTable decides web.
type hostTable struct {
	rules    [3][]hostRule
	fallback *Result
	unknown  Result // for an argument that is not a host
}

type hostRule struct {
	pattern hostPattern
	result  Result
}

func (e *Engine) compileHosts(s *side) error {
	t := &s.hosts
	t.fallback = s.fallback(ir.Web)
	rules := s.rules(ir.Web)
	for _, r := range rules {
		p := hostPattern{all: true}
		switch r.Pattern.Kind {
		case ir.All:
		case ir.Plain:
			var err error
			if p, err = parseHost(r.Pattern.Text); err != nil {
				return err
			}
		default:
			return fmt.Errorf("got a pattern of kind %q, want a host", r.Pattern.Kind)
		}
		t.rules[r.Decision] = append(t.rules[r.Decision], hostRule{p, ruleResult(r)})
	}
	t.unknown = t.opaque()
	return nil
}

// opaque decides what is not a host: no entry of a list matches it but "*".
func (t *hostTable) opaque() Result {
	all := func(d ir.Decision) *Result {
		for i := range t.rules[d] {
			if t.rules[d][i].pattern.all {
				return &t.rules[d][i].result
			}
		}
		return nil
	}
	if r := all(ir.Deny); r != nil {
		return *r
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask} {
		if len(t.rules[d]) > 0 {
			r := t.rules[d][0].result
			r.Rule = "no host, and web has " + r.Rule
			return r
		}
	}
	if r := all(ir.Allow); r != nil {
		return *r
	}
	if len(t.rules[ir.Allow]) > 0 && t.fallback.Decision == ir.Allow {
		r := *t.fallback
		r.Decision, r.Rule = ir.Ask, "no host, and web has a list"
		return r
	}
	return *t.fallback
}

func (t *hostTable) decide(host string) *Result {
	for d := range t.rules {
		for i := range t.rules[d] {
			if r := &t.rules[d][i]; r.pattern.match(host) {
				return &r.result
			}
		}
	}
	return t.fallback
}

func (s *Subject) web(arg string) *Result {
	host, ok := Host(arg)
	return s.over(ir.Web, func(side *side) *Result {
		if !ok {
			return &side.hosts.unknown
		}
		return side.hosts.decide(host)
	})
}
