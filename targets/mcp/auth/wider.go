package auth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Wider says in words which tokens are taken by later options and not by those of the start.
func Wider(first, next Options) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	was := map[string]*Token{} // by the digest
	for i := range first.Tokens {
		was[strings.ToLower(first.Tokens[i].SHA256)] = &first.Tokens[i]
	}
	for _, t := range next.Tokens {
		old := was[strings.ToLower(t.SHA256)]
		switch {
		case old == nil:
			add("the token %q", t.Name)
			continue
		case old.Name != t.Name:
			add("the token %q, which was %q", t.Name, old.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Claims)) {
			for _, value := range t.Claims[name] {
				if !slices.Contains(old.Claims[name], value) {
					add("the claim %s = %q of the token %q", name, value, t.Name)
				}
			}
		}
	}
	if next.Issuer == "" {
		return list
	}
	if next.Issuer != first.Issuer {
		add("tokens of the issuer %q", next.Issuer)
		return list // the rest is about them
	}
	if next.Audience != first.Audience {
		add("tokens for the audience %q", next.Audience)
	}
	if next.KeysAt != first.KeysAt {
		add("tokens by the keys of %s", cmp.Or(next.KeysAt, "the issuer's metadata"))
	}
	taken := func(o Options) []string {
		if len(o.Algorithms) == 0 {
			return DefaultAlgorithms
		}
		return o.Algorithms
	}
	for _, a := range taken(next) {
		if !slices.Contains(taken(first), a) {
			add("tokens that are signed by %s", a)
		}
	}
	if next.Skew > first.Skew {
		add("tokens by clocks that differ by %s", next.Skew)
	}
	return list
}
