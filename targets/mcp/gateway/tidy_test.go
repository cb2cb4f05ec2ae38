package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A value keeps its keys, their order and its numbers, and is refused where two readers may read it in two ways.
func TestTidy(t *testing.T) {
	for in, want := range map[string]string{
		`{"b": 1, "a": [1.50, "x", null, true, {}, []], "c": {"d": 12345678901234567890}}`: `{"b":1,"a":[1.50,"x",null,true,{},[]],"c":{"d":12345678901234567890}}`,
		`"x"`: `"x"`, ` [ ] `: `[]`, `[[],[[]]]`: `[[],[[]]]`, `[{"a":1},{"a":2}]`: `[{"a":1},{"a":2}]`,
		`{"a":1,"a":2}`:                                   "!twice",
		`{"a":1,"\u0061":2}`:                              "!twice",
		`[{"x":{"k":1,"k":1}}]`:                           "!twice",
		`{"a":"` + "\xff" + `"}`:                          "!UTF-8",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "!nested",
		`{"a":1`: "!", `1 2`: "!more than one", ``: "!cut off", `{"a" 1}`: "!",
	} {
		got, err := tidy([]byte(in), nil)
		if why, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%.60s: got %.60s, %v, want an error with %q", in, got, err, why)
			}
		} else if err != nil || string(got) != want {
			t.Errorf("%.60s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

// What people read loses what they would not see. Hidden characters anywhere else are refused.
func TestDefinitionText(t *testing.T) {
	for in, want := range map[string]string{
		`{"description":"a\u001b[31mred\u001b[0m\u200bb\u202ec\udb40\udc41d\n\te\u0000"}`: `{"description":"aredbcd\n\te"}`,
		`{"title":"\u001b]8;;http://evil\u0007link\u001b]8;;\u0007"}`:                     `{"title":"link"}`,
		`{"title":"\u009b31mx\ufe0f"}`:                                                    `{"title":"x"}`,
		`{"x":{"description":"é 漢 🏗\u200d"}}`:                                             `{"x":{"description":"é 漢 🏗"}}`,
		`{"enum":["a\u200b"]}`:                                                            "!U+200B",
		`{"properties":{"a\u202e":{}}}`:                                                   "!U+202E",
		`{"icons":[{"src":"javascript:alert(1)"}]}`:                                       "!icon",
		`{"icons":[{"src":"HTTPS://e.example/i.png"}],"properties":{"src":{"type":"string"}},"required":["src"]}`: `{"icons":[{"src":"HTTPS://e.example/i.png"}],"properties":{"src":{"type":"string"}},"required":["src"]}`,
		`{"default":"\u001b[31m"}`:                           "!U+001B",
		`{"properties":{"title":{"enum":["\udb40\udc41"]}}}`: "!U+E0041",
	} {
		got, err := tidy([]byte(in), definitionText)
		if why, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: got %s, %v, want an error with %q", in, got, err, why)
			}
		} else if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", in, got, err, want)
		}
	}
}

// A schema may refer to its own parts, to itself too, and to nothing else, and does not explode.
func TestResultText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\tand\nlines\r\n":                "plain\tand\nlines\r\n",
		"\x1b[31mred\x1b[0m \x1b]0;title\x07x": "red x",
		"over\rwritten":                        "overwritten",
		"a\u200bb\u202ec\ufeffd\u00ade":        "abcde",
		"hi\U000e0041\U000e0042\U000e0100":     "hi",
		"nul\x00bell\x07":                      "nulbell",
		"👩\u200d💻 ❤\ufe0f می\u200cخواهم":       "👩\u200d💻 ❤\ufe0f می\u200cخواهم",
	} {
		if got := resultText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Texts of results that are read by people and models are cleaned, and what is data stays to the byte.
func TestPlainResults(t *testing.T) {
	const odd = `a\u001b[31mb\u200bc\ud83d\udc69\u200d\ud83d\udcbb`
	const call = `{"content":[{"type":"text","text":"` + odd + `"},{"type":"resource","resource":{"uri":"x://y","text":"` + odd +
		`"}},{"type":"resource_link","uri":"x://z","name":"` + odd + `","title":"` + odd + `","icons":[{"src":"javascript:x"}]}],"structuredContent":{"text":"` + odd + `"}}`
	answers, err := json.Marshal(map[string]string{"tools/call": call,
		"tools/list":   `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
		"prompts/list": `{"prompts":[{"name":"p"}]}`,
		"prompts/get":  `{"messages":[{"role":"user","content":{"type":"text","text":"` + odd + `"}}]}`})
	if err != nil {
		t.Fatal(err)
	}
	var dirty, clean string
	if json.Unmarshal([]byte(`"`+odd+`"`), &dirty) != nil {
		t.Fatal("the text cannot be read")
	}
	clean = "abc👩\u200d💻"
	for _, raw := range []bool{false, true} {
		opt := reviewer
		opt.Raw = map[string]bool{"s": raw}
		w := dial(t, real(t, one(program("raw", "ANSWERS", string(answers))), opt), eras[0], object{})
		want, icon := clean, ""
		if raw {
			want, icon = dirty, "javascript:x"
		}
		r := w.result("tools/call", object{"name": "s_echo"})
		if got := fmt.Sprintf("%q", r["content"]); got != fmt.Sprintf("%q", []any{object{"type": "text", "text": want},
			object{"type": "resource", "resource": object{"uri": "x://y", "text": want}},
			object{"type": "resource_link", "uri": "x://z", "name": want, "title": want, "icons": []any{object{"src": icon}}}}) {
			t.Errorf("raw=%t: got %s, want %q", raw, got, want)
		}
		if got := r["structuredContent"].(object)["text"]; got != dirty {
			t.Errorf("raw=%t: got %q, want %q", raw, got, dirty)
		}
	}
}

func TestCheckSchema(t *testing.T) {
	bomb := map[string]any{"l0": map[string]any{"type": "string"}}
	for i := range 40 {
		ref := map[string]any{"$ref": fmt.Sprintf("#/$defs/l%d", i)}
		bomb[fmt.Sprintf("l%d", i+1)] = map[string]any{"allOf": []any{ref, ref}}
	}
	data, err := json.Marshal(map[string]any{"$defs": bomb, "$ref": "#/$defs/l40"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		string(data): "more than",
		`{"type":"object","properties":{"a":{"$ref":"https://evil.example/s.json"}}}`: "another document",
		`{"$ref":"other.json#/x"}`:                                                                   "another document",
		`{"$dynamicRef":"//evil/x"}`:                                                                 "another document",
		`{"anyOf":[` + strings.Repeat(`{},`, maxNodes) + `{}]}`:                                      "more than",
		`{"type":"object","properties":{"$ref":{"type":"string"}}}`:                                  "",
		`{"$defs":{"t":{"properties":{"kids":{"items":{"$ref":"#/$defs/t"}}}}},"$ref":"#/$defs/t"}`:  "",
		`{"properties":{"a":{"$ref":"#"}}}`:                                                          "",
		`{"$defs":{"a/b":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a~1b"}},"x":"$ref"}`:  "",
		`{"$ref":"#anchor","$defs":{"x":{"$anchor":"anchor"}},"properties":{"y":{"$ref":"#/none"}}}`: "",
	} {
		err := checkSchema(json.RawMessage(in))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: got %v, want %q", in, err, want)
		}
	}
}
