package contract

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

type named string

// everything is a struct with each kind of field that a payload or an answer has.
type everything struct {
	Text   string          `json:"text"`
	Kind   string          `json:"kind_s"`
	List   []string        `json:"list"`
	Object map[string]any  `json:"object"`
	Raw    json.RawMessage `json:"raw"`
	Found  *named          `json:"found"`
	Inner  struct {
		Text string `json:"inner,omitempty"`
	} `json:"in"`
}

// What is plain is read as the readers do that read everything.
func FuzzReadPlain(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"found":"x"}`, `{"found":null}`, `{"found":""}`,
		`{"text":"a","kind_s":"b","list":["x","y"],"object":{"a":[1,true,null,{"b":"c"}]},"raw":{"x":1}}`,
		`{"in":{"inner":"x"},"other":[]}`, `{"in":{"Inner":"x"}}`, `{"in":{"inner":"x","inner":"y"}}`, `{"list":[]}`,
		`{"text":"\u003c\n\"\\\/"}`, `{"text":"\ud800"}`, `{"text":"` + "\xff" + `"}`, `{"text":"é\u0000"}`, `{"text":null}`,
		`{"text":"a","text":"b"}`, `{"Text":"a"}`, `{"other":1,"other":2}`, `{"object":{"a":1,"a":2}}`, `{"\u212aind_s":"a"}`,
		`{"kind_ſ":"a"}`, `{"object":{"n":[0,10,01]}}`, `{"object":{"n":1.5}}`, `{"object":{"n":-1}}`, `{"object":{"n":1e3}}`,
		`{"object":{"n":123456789}}`, `{"object":{"n":1234567890123456789012}}`, `{"raw": [1, 2] }`, `{"raw":null}`,
		`{"list":null}`, `{"object":null}`, `{"object":[]}`, `{"list":[1]}`, `{"text":"a"} x`, `{"text":"a"`, `{"text"}`,
		`{"text":"a",}`, `{"object":{,}}`, `{"object":{"a":tru}}`, `{"":"x"}`, `[]`, `null`, ``, "\ufeff{}",
		`{"object":{"a":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}}`, "{\"text\":\"\n\"}",
		`{"text":"\u+123"}`, `{"text":"\u12"}`, `{"text":"\`, `{"text":"\x"}`, `{"object":{"n":1 2}}`, `{"object":{"n":}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want everything
		if !readPlain(data, &got) {
			if !reflect.DeepEqual(got, everything{}) {
				t.Fatalf("%q is not plain, and was decoded as %+v", data, got)
			}
			return
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q is not JSON: %v", data, err)
		}
		if err := oneReading(data, keysOf(reflect.TypeFor[everything]())); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", data, got, want)
		}
	})
}

// The payloads of agents are plain.
func TestPlain(t *testing.T) {
	for data, want := range map[string]bool{
		`{"text":"PreToolUse","object":{"command":"a \u0026\u0026 b","line":1}}`:  true,
		`{"text":"naïve","in":{"inner":"x"},"raw":{"a":"b"},"list":["/project"]}`: true,
		`{"text":"a","text":"b"}`: false,
	} {
		if got := readPlain([]byte(data), &everything{}); got != want {
			t.Errorf("%s: got plain %v, want %v", data, got, want)
		}
	}
}

// A struct with a field that has no key of its own is not read as plain.
func TestNoKey(t *testing.T) {
	var p struct{ Text string }
	if readPlain([]byte(`{"text":"a"}`), &p) || ReadAnswer([]byte(`{"text":"a"}`), &p) != nil || p.Text != "a" {
		t.Errorf("got %q", p.Text)
	}
}

func FuzzAppendText(f *testing.F) {
	for _, seed := range []string{"", "a b", `"\`, "<&>", "\x00\n", "é\u2028", "\xff", "\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := json.Marshal(text)
		if got := AppendText(nil, text); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
		object := Object{"a", text, text, "b", "o", Object{text, Object{}, "l", []string{text, "z"}, "e", []string{},
			"m", map[string]any{"k": text, "in": Object{"x", text}}, "n", 3, "of", []Object{{"q", text}, {}}, "z", nil}}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(object); err != nil || string(JSON(object)) != b.String() {
			t.Errorf("got %s, want %s", JSON(object), b.String())
		}
		want, err = json.Marshal(map[string]string{"a": text, "b": ""})
		if got := AppendTexts(nil, "a", text, "b", ""); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
