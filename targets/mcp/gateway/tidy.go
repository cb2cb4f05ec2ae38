package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/pins"
)

// maxDepth is how deep values may be nested.
const maxDepth = 64

// tidy reads a value of JSON and writes it again: its keys and their order are the same, and it reads the
// same for everybody. It refuses a key that stands twice in an object, text that is not UTF-8, and nesting
// without end. text is what becomes of a text: its key is the last one above it, or "" for a key itself;
// nil leaves every text as it is.
func tidy(raw []byte, text func(key, s string) (string, error)) (json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("got text that is not UTF-8")
	}
	lenient := jsontext.AllowInvalidUTF8(true) // of a pair of \u: it becomes U+FFFD
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)
	out := bytes.NewBuffer(make([]byte, 0, len(raw)+1))
	e := jsontext.NewEncoder(out, lenient)
	keys := make([]string, 1, 8) // the last one above what stands at each depth
	for {
		tok, err := d.ReadToken()
		depth := d.StackDepth()
		switch {
		case err != nil:
			return nil, untidy(err)
		case tok.Kind() == '"':
			if tok, err = tidyText(d, keys, tok, text); err != nil {
				return nil, err
			}
		case depth > maxDepth:
			return nil, fmt.Errorf("got a value that is nested more than %d deep", maxDepth)
		case depth == len(keys): // an object or a list begins
			keys = append(keys, keys[depth-1])
		}
		keys = keys[:depth+1]
		if err := e.WriteToken(tok); err != nil {
			return nil, err
		}
		if depth == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("got more than one value")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// tidyText returns what becomes of a text at which a decoder is. Of a key it notes that it is the last one there.
func tidyText(d *jsontext.Decoder, keys []string, tok jsontext.Token, text func(key, s string) (string, error)) (
	jsontext.Token, error) {
	s, depth := tok.String(), d.StackDepth()
	if kind, n := d.StackIndex(depth); kind == '{' && n%2 == 1 {
		if keys[depth] = s; text != nil {
			_, err := text("", s)
			return jsontext.String(s), err
		}
		return jsontext.String(s), nil
	}
	if text == nil {
		return jsontext.String(s), nil
	}
	clean, err := text(keys[depth], s)
	return jsontext.String(clean), err
}

// untidy says in plain words why a value cannot be read.
func untidy(err error) error {
	bad := (*jsontext.SyntacticError)(nil)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("got a value that is cut off")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &bad):
		return fmt.Errorf("got the key %q twice in an object", bad.JSONPointer.LastToken())
	}
	return err
}

// escapes are the sequences by which a text drives a terminal.
var escapes = lazy.Regexp("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|" +
	"(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])" +
	"[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?|\x1b[ -/]*[0-~]?")

// plainText returns a text for people without what they would not see.
func plainText(s string) string {
	if strings.IndexFunc(s, pins.Invisible) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if pins.Invisible(r) {
			return -1
		}
		return r
	}, escapes().ReplaceAllString(s, ""))
}

// joiners are invisible characters without which others look otherwise: in scripts, and in emoji.
const joiners = "\u200c\u200d\ufe0e\ufe0f"

// resultText returns a text of a result without what drives a terminal, and without what only a model reads. What
// belongs to the characters beside it stays, and so do the line breaks of every system.
func resultText(s string) string {
	odd := func(r rune) bool { return r != '\r' && pins.Invisible(r) && !strings.ContainsRune(joiners, r) }
	if strings.IndexFunc(s, odd) < 0 && strings.Count(s, "\r") == strings.Count(s, "\r\n") {
		return s
	}
	var b strings.Builder
	s = escapes().ReplaceAllString(s, "")
	for i, r := range s {
		if !odd(r) && (r != '\r' || strings.HasPrefix(s[i:], "\r\n")) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// forPeople are the keys of a definition whose texts are read by people and models, and by nobody else.
var forPeople = map[string]bool{"title": true, "description": true, "$comment": true}

// definitionText cleans the texts of a definition that are for people, and refuses what is hidden in others.
func definitionText(key, s string) (string, error) {
	if forPeople[key] {
		return plainText(s), nil
	}
	if key == "src" && !isImage(s) {
		return "", fmt.Errorf("got the address %+.40q of an icon, want one of https, http or data", s)
	}
	if i := strings.IndexFunc(s, pins.Invisible); i >= 0 {
		return "", fmt.Errorf("got the invisible character %U in %+.40q", []rune(s[i:])[0], s)
	}
	return s, nil
}

// isImage reports whether a client may fetch an icon from an address, or has it in it. With other schemes it would run
// what is there.
func isImage(address string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return slices.Contains([]string{"https", "http", "data"}, scheme)
}

// maxNodes is how many values a schema may have once all its references are followed.
const maxNodes = 20_000

// checkSchema refuses a schema that refers to another document, and one that grows without measure when
// its references are followed.
func checkSchema(raw json.RawMessage) error {
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return err
	}
	c := &schemaChecker{root: root, sizes: map[string]int{}}
	_, err := c.size(root)
	return err
}

type schemaChecker struct {
	root  any
	sizes map[string]int // of what references lead to; 0 while it is counted
}

// size counts the values of a part of a schema, with those of what it refers to.
func (c *schemaChecker) size(v any) (n int, err error) {
	n = 1
	add := func(part any) error {
		more, err := c.size(part)
		if n += more; err == nil && n > maxNodes {
			err = fmt.Errorf("got a schema of more than %d values", maxNodes)
		}
		return err
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := add(item); err != nil {
				return n, err
			}
		}
	case map[string]any:
		for key, part := range v {
			if err := add(part); err != nil {
				return n, err
			}
			target, ok := part.(string)
			if !ok || key != "$ref" && key != "$dynamicRef" && key != "$recursiveRef" {
				continue
			}
			more, err := c.target(target)
			if n += more; err == nil && n > maxNodes {
				err = fmt.Errorf("got a schema of more than %d values", maxNodes)
			}
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// target counts what a reference leads to. One that leads back to where it stands counts as nothing: a
// schema may describe a tree.
func (c *schemaChecker) target(ref string) (int, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return 0, fmt.Errorf("got a reference to another document, %+.80q", ref)
	}
	if n, ok := c.sizes[ref]; ok {
		return n, nil
	}
	c.sizes[ref] = 0
	part := c.root
	if strings.HasPrefix(fragment, "/") {
		for _, step := range strings.Split(fragment[1:], "/") {
			if plain, err := url.PathUnescape(step); err == nil {
				step = plain
			}
			step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
			in, _ := part.(map[string]any)
			part = in[step]
		}
	} else if fragment != "" {
		return 0, nil // an anchor: what it names is counted where it stands
	}
	n, err := c.size(part)
	c.sizes[ref] = n
	return n, err
}
