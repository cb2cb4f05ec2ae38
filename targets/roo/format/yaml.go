package format

import (
	"bytes"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
)

// replacedRunes is the table by which Roo cleans the raw text of a modes file
// (CustomModesManager.cleanInvisibleCharacters).
var replacedRunes = map[rune]string{
	0xA0: " ", 0x200B: "", 0x200C: "", 0x200D: "",
	0x2018: "'", 0x2019: "'", 0x201C: `"`, 0x201D: `"`,
	0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2015: "-", 0x2212: "-",
}

// Clean returns the text of a modes file as Roo cleans it before it reads it.
func Clean(data []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(data) {
		if s, ok := replacedRunes[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// YAML reads a text as npm yaml 2 does: one document, and no key twice.
func YAML(file string, data []byte) (*located.Value, error) {
	text, err := oneDocument(file, string(data))
	if err != nil {
		return nil, err
	}
	plain, tab := []byte(text), ""
	if strings.Contains(text, "\t") {
		tab = standIn(text)
		plain = innerTab().ReplaceAllFunc(plain, func(m []byte) []byte {
			return bytes.ReplaceAll(m, []byte("\t"), []byte(tab))
		})
	}
	v, err := located.YAML(file, plain)
	if err != nil {
		return nil, err
	}
	if tab != "" {
		putBack(v, tab, map[*located.Value]bool{})
	}
	return v, uniqueKeys(v, map[*located.Value]bool{})
}

// oneDocument returns a text as our parser reads it like npm yaml, and fails on a second
// document. Our parser knows no directive and folds no line that ends in CR LF, and a
// block at the end of a file has its last line break whether or not it is written.
func oneDocument(file, text string) (string, error) {
	begun := false
	lines := strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r\n", "\n")+"\n", "\n")
	for i, line := range lines {
		if !begun && strings.HasPrefix(line, "%") {
			lines[i] = "#" + line[1:]
			continue
		}
		line = strings.TrimRight(line, " \t\r")
		mark := line == "---" || strings.HasPrefix(line, "--- ")
		if mark && begun {
			return "", &SchemaError{diag.Pos{File: file, Line: i + 1}, "", "source contains multiple documents"}
		}
		begun = begun || mark || line != "" && line[0] != '#'
	}
	return strings.Join(lines, "\n"), nil
}

// innerTab is what stands before a tab inside a word, and the tab: our parser
// drops it, and a key "gro\tups" would be groups.
var innerTab = lazy.Regexp(`[^\s:,\-\[\]{}?"'](?:[ \t]*\t[ \t]*[^\s#])+`)

// standIn returns a noncharacter that a text does not contain, in place of its inner tabs
// while it is read.
func standIn(text string) string {
	for r := '\uFDD0'; r < '\uFDEF'; r++ {
		if !strings.ContainsRune(text, r) {
			return string(r)
		}
	}
	return " "
}

// putBack writes tabs again where something stands for them.
func putBack(v *located.Value, tab string, seen map[*located.Value]bool) {
	if v == nil || seen[v] || tab == " " {
		return
	}
	seen[v] = true
	v.Text = strings.ReplaceAll(v.Text, tab, "\t")
	v.Comment = strings.ReplaceAll(v.Comment, tab, "\t")
	for i := range v.Members {
		v.Members[i].Key = strings.ReplaceAll(v.Members[i].Key, tab, "\t")
		putBack(v.Members[i].Value, tab, seen)
	}
	for _, item := range v.Items {
		putBack(item, tab, seen)
	}
}

// uniqueKeys fails on a key that an object has twice. An alias is the same value
// again, so that seen ends what would grow without bound.
func uniqueKeys(v *located.Value, seen map[*located.Value]bool) error {
	if v == nil || seen[v] {
		return nil
	}
	seen[v] = true
	keys := map[string]bool{}
	for _, m := range v.Members {
		if keys[m.Key] {
			return &SchemaError{m.Pos, "", "map keys must be unique"}
		}
		keys[m.Key] = true
		if err := uniqueKeys(m.Value, seen); err != nil {
			return err
		}
	}
	for _, item := range v.Items {
		if err := uniqueKeys(item, seen); err != nil {
			return err
		}
	}
	return nil
}
