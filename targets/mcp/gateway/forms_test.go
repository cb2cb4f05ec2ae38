package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestForms holds that a definition which clients refuse, and with it the whole list, is left out.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		k         *kind
		good, bad string // of more fields
	}{
		{tools, `"description": "d"`, `"description": 5`},
		{tools, `"title": "t"`, `"title": {}`},
		{tools, `"annotations": {"readOnlyHint": true, "more": 5}`, `"annotations": {"readOnlyHint": "yes"}`},
		{tools, `"annotations": {}`, `"annotations": null`},
		{tools, `"icons": [{"src": "https://a/b"}]`, `"icons": [5]`},
		{tools, `"_meta": {"a": 5}`, `"_meta": 5`},
		{tools, `"execution": {"taskSupport": "optional"}`, `"execution": {"taskSupport": "maybe"}`},
		{tools, `"inputSchema": {"type": "object", "properties": {"a": {}}, "required": ["a"]}`,
			`"inputSchema": {"type": "object", "properties": {"a": 5}}`},
		{tools, `"unknown": 5`, `"inputSchema": {"type": "object", "required": "a"}`},
		{prompts, `"arguments": [{"name": "a", "required": true}]`, `"arguments": [{}]`},
		{prompts, `"arguments": []`, `"arguments": {}`},
		{resources, `"annotations": {"priority": 1, "lastModified": "2026-01-01T00:00:00Z"}`,
			`"annotations": {"priority": 7}`},
		{resources, `"size": 1`, `"size": "x"`},
		{resources, `"size": 1`, `"annotations": {"lastModified": "x"}`},
		{templates, `"mimeType": "text/plain"`, `"mimeType": []`},
	} {
		of := func(more string) error {
			text := `{"name": "n", ` + more
			if c.k == tools && !strings.Contains(more, "inputSchema") {
				text += `, "inputSchema": {"type": "object"}`
			}
			if c.k == resources || c.k == templates {
				text += `, "` + c.k.key + `": "a://b"`
			}
			_, err := define(c.k, []byte(text+"}"))
			return err
		}
		if err := of(c.good); err != nil {
			t.Errorf("%s: %v", c.good, err)
		}
		if of(c.bad) == nil {
			t.Errorf("%s is taken", c.bad)
		}
	}
	if _, err := define(resources, []byte(`{"uri": "a://b"}`)); err == nil {
		t.Error("a resource without a name is taken")
	}
}

// TestOutputSchemas holds that a schema of results which some client cannot compile is taken away, and the tool stays.
func TestOutputSchemas(t *testing.T) {
	for schema, stays := range map[string]bool{
		`{"type": "object", "properties": {"a": {"type": ["string", "null"]}, "id": {"type": "string"}}}`:         true,
		`{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"enum": ["x"]}}}`:         true,
		`{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false}`: true,
		`{"type": "string"}`: false,
		`{"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}`:                             false,
		`{"type": "object", "properties": {"a": {"$ref": "#/nope"}}}`:                                             false,
		`{"type": "object", "properties": {"a": {"type": "foo"}}}`:                                                false,
		`{"type": "object", "properties": {"a": {"enum": []}}}`:                                                   false,
		`{"type": "object", "properties": {"a": {"nullable": true}}}`:                                             false,
		`{"type": "object", "$defs": {"a": {"$id": "http://x/a"}, "b": {"$id": "http://x/a", "type": "string"}}}`: false,
	} {
		it, err := define(tools, []byte(`{"name": "n", "inputSchema": {"type": "object"}, "outputSchema": `+schema+`}`))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if has := strings.Contains(string(it.raw), "outputSchema"); has != stays {
			t.Errorf("%s: got %s", schema, it.raw)
		}
	}
}

// TestWeightOfTemplates holds that templates which take long to match are heavy, and ordinary ones are not.
func TestWeightOfTemplates(t *testing.T) {
	weigh := func(template string) int {
		it, err := define(templates, []byte(`{"name": "n", "uriTemplate": "`+template+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return it.weight()
	}
	if n := weigh("file:///{+path}?{a,b,c}"); n*500 > maxMatch {
		t.Errorf("got %d for an ordinary one", n)
	}
	if n := weigh("{" + strings.Repeat("a,", 900) + "a}"); n*30 < maxMatch {
		t.Errorf("got %d for one of 901 variables", n)
	}
}

// TestHeavyTemplates holds that a list of templates which take long to match is not taken.
func TestHeavyTemplates(t *testing.T) {
	for n, want := range map[int]int{1: 1, 40: 0} {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(`{"name": "n", "uriTemplate": "a%d://{%sa}"}`, i, strings.Repeat("a,", 900)))
		}
		answers, err := json.Marshal(map[string]string{
			"resources/templates/list": `{"resourceTemplates": [` + strings.Join(items, ",") + `]}`})
		if err != nil {
			t.Fatal(err)
		}
		w := dial(t, real(t, one(program("raw", "ANSWERS", string(answers))), reviewer), eras[0], object{})
		if got := w.listed(templates); len(got) != want {
			t.Errorf("got %d of %d", len(got), n)
		}
	}
}
