package jsonedit

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, have, want, rewritten string }{
		{"a text in a list of a mode",
			"{\n  \"modes\": [\n    {\"slug\": \"a\", \"groups\": [\"read\", [\"edit\", {\"fileRegex\": \"x\"}]], \"name\": \"A\"},\n" +
				"    { \"slug\": \"b\" }\n  ]\n}\n",
			`{"modes": [{"name": "A", "slug": "a", "groups": ["read", ["edit", {"fileRegex": "y"}]]}, {"slug": "b"}]}`,
			"{\n  \"modes\": [\n    {\"slug\": \"a\", \"groups\": [\"read\", [\"edit\", {\"fileRegex\": \"y\"}]], \"name\": \"A\"},\n" +
				"    { \"slug\": \"b\" }\n  ]\n}\n"},
		{"a mode goes and one comes", "{\n  \"modes\": [\n    {\"slug\": \"a\"},\n    {\"slug\": \"b\"}\n  ]\n}",
			`{"modes": [{"slug": "b"}, {"slug": "c"}]}`, "{\n  \"modes\": [\n    {\"slug\": \"b\"},\n    {\n      \"slug\": \"c\"\n    }\n  ]\n}"},
		{"members", `{"x": 1, "y": 2}`, `{"y": 3, "z": 4}`, `{"y": 3, "z": 4}`},
		{"another kind", `{"x": [1]}`, `{"x": {"y": 1}}`, "{\"x\": {\n    \"y\": 1\n  }}"},
	} {
		got, err := Rewrite([]byte(c.have), []byte(c.want), "slug")
		if err != nil || string(got) != c.rewritten {
			t.Errorf("%s: got %v\n%s\nwant\n%s", c.name, err, got, c.rewritten)
		}
	}
}

// Whatever was there, the file says afterwards what was wanted.
func TestRewriteSaysWhatIsWanted(t *testing.T) {
	for seed := range uint64(4000) {
		p := rand.New(rand.NewPCG(seed, 7))
		have, _ := json.MarshalIndent(drawn(p, 4), "", "\t")
		want, _ := json.Marshal(drawn(p, 4))
		got, err := Rewrite(have, want, "slug")
		var a, b any
		if err != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: %s became %s, %v, want %s", seed, have, got, err, want)
		}
	}
}

func drawn(p *rand.Rand, depth int) any {
	names := []string{"slug", "x", "y", "z"}
	switch n := p.IntN(4); {
	case n == 0 || depth == 0:
		return names[p.IntN(len(names))]
	case n == 1:
		list := []any{}
		for range p.IntN(4) {
			list = append(list, drawn(p, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range p.IntN(4) {
		object[names[p.IntN(len(names))]] = drawn(p, depth-1)
	}
	return object
}
