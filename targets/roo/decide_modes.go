package roo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/diag"
)

// judgedMode is a mode as the agent has it after loading.
type judgedMode struct {
	groups map[string]judgedGroup
	// servers is Zoo's allowedMcpServers; nil: all.
	servers      *artifact.Value
	restrictions *judgedRestrictions // nil: none
	at           diag.Pos            // of the groups
}

// judgedGroup is a group that a mode has.
type judgedGroup struct {
	at    diag.Pos
	text  string       // as it stands in the file
	regex *judgedRegex // fileRegex of edit; nil: every path
}

// builtinGroups are the groups of DEFAULT_MODES in Roo 3.52.1
// (packages/types/src/mode.ts); Zoo 3.82.0 adds web to code and debug.
var builtinGroups = map[string][]string{
	"architect":    {"read", "edit", "mcp"},
	"code":         {"read", "edit", "command", "mcp"},
	"ask":          {"read", "mcp"},
	"debug":        {"read", "edit", "command", "mcp"},
	"orchestrator": {},
}

// builtinModes returns the modes that the agent has by itself. They stay where
// a file does not name them (src/shared/modes.ts, getModeBySlug).
func builtinModes(dialect, file string) map[string]*judgedMode {
	modes := map[string]*judgedMode{}
	for slug, groups := range builtinGroups {
		m := &judgedMode{groups: map[string]judgedGroup{}, at: diag.Pos{File: file}}
		for _, name := range groups {
			m.groups[name] = judgedGroup{at: m.at, text: "built-in mode " + slug + ": " + name}
		}
		if slug == "architect" {
			re, err := newJudgedRegex(`\.md$`, false)
			if err != nil {
				panic(err)
			}
			m.groups["edit"] = judgedGroup{at: m.at, text: `built-in mode architect: edit \.md$`, regex: re}
		}
		if dialect == zoo && (slug == "code" || slug == "debug") {
			m.groups["web"] = judgedGroup{at: m.at, text: "built-in mode " + slug + ": web"}
		}
		modes[slug] = m
	}
	return modes
}

// openModes reads the modes that a session of the agent has. Of the files only
// the first that is there counts; where it does not load, none of its modes
// exists (CustomModesManager.loadModesFromFile).
func openModes(fsys fs.FS, dialect string, names ...string) (map[string]*judgedMode, diag.List) {
	file := names[0]
	var data []byte
	var err error
	for _, name := range names {
		if data, err = fs.ReadFile(fsys, name); err == nil {
			file = name
			break
		}
	}
	modes := builtinModes(dialect, file)
	if err != nil {
		return modes, nil
	}
	var diags diag.List
	own, err := loadModes(file, data, dialect)
	if err != nil {
		diags.Warnf(diag.Pos{File: file}, "roo-artifact", "", "got a file of which the agent loads no mode: %s", err)
	}
	for slug, m := range own {
		modes[slug] = m
	}
	return modes, diags
}

// loadModes reads a modes file: clean the raw text, read it as YAML, else the
// original as JSON; a file without customModes has none.
func loadModes(file string, data []byte, dialect string) (map[string]*judgedMode, error) {
	root, err := readYAML(file, []byte(cleanedText(bytes.TrimPrefix(data, []byte("\uFEFF")))))
	if err != nil {
		if !json.Valid(data) {
			return nil, err
		}
		if root, err = artifact.JSON(file, data); err != nil {
			return nil, err
		}
	}
	list := root.Get("customModes")
	if !root.Is(artifact.Object) || falsy(list) {
		return nil, errors.New("it has no customModes")
	}
	if !list.Is(artifact.List) {
		return nil, fmt.Errorf("%s: customModes: expected array, received %s", list.Pos, list.Kind)
	}
	modes := map[string]*judgedMode{}
	for i, v := range list.Items {
		slug, m, err := loadMode(v, dialect)
		if err != nil {
			return nil, fmt.Errorf("%s: customModes.%d: %w", v.Pos, i, err)
		}
		if modes[slug] != nil {
			return nil, fmt.Errorf("%s: duplicate mode slugs are not allowed", v.Pos)
		}
		modes[slug] = m
	}
	return modes, nil
}

// falsy reports what JavaScript takes for false.
func falsy(v *artifact.Value) bool {
	return v == nil || v.Is(artifact.Null) || v.Is(artifact.Bool) && !v.True() || v.Is(artifact.String) && v.Text == "" || v.Is(artifact.Number) && strings.Trim(v.Text, "-+0.") == ""
}

// replacedRunes is the table by which Roo cleans the raw text
// (CustomModesManager.cleanInvisibleCharacters); the dashes become "-".
var replacedRunes = map[rune]string{0xA0: " ", 0x200B: "", 0x200C: "", 0x200D: "", 0x2018: "'", 0x2019: "'", 0x201C: `"`, 0x201D: `"`,
	0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: "-", 0x2014: "-", 0x2015: "-", 0x2212: "-"}

func cleanedText(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		if s, ok := replacedRunes[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readYAML reads YAML as npm yaml 2 does: one document, and no key twice.
func readYAML(file string, data []byte) (*artifact.Value, error) {
	begun := false
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if !begun && strings.HasPrefix(line, "%") {
			lines[i] = "#" + line[1:] // a directive, which our parser does not know
			continue
		}
		line = strings.TrimRight(line, " \t\r")
		mark := line == "---" || strings.HasPrefix(line, "--- ")
		if mark && begun {
			return nil, fmt.Errorf("%s:%d: source contains multiple documents", file, i+1)
		}
		begun = begun || mark || line != "" && line[0] != '#'
	}
	v, err := artifact.YAML(file, innerTab.ReplaceAll([]byte(strings.Join(lines, "\n")), []byte("$1 $2")))
	if err != nil {
		return nil, err
	}
	return v, uniqueKeys(v, map[*artifact.Value]bool{})
}

// innerTab is a tab inside a word, which our parser drops: a key "gro\tups"
// would be groups.
var innerTab = regexp.MustCompile(`([^\s:,\-\[\]{}?"'])\t+([^\s#])`)

// uniqueKeys fails on a key that an object has twice. An alias is the same value
// again, so that seen ends what would grow without bound.
func uniqueKeys(v *artifact.Value, seen map[*artifact.Value]bool) error {
	if v == nil || seen[v] {
		return nil
	}
	seen[v] = true
	keys := map[string]bool{}
	for _, m := range v.Members {
		if keys[m.Key] {
			return fmt.Errorf("%s: map keys must be unique", m.Pos)
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

// coreNumber is a number in YAML 1.2's core schema, and in JSON. What else the
// parser takes for one (1_000, 0b1) is a string to npm yaml.
var coreNumber = regexp.MustCompile(`^(?:[-+]?(?:[0-9]+|\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// schemaText returns a string as the schema sees it.
func schemaText(v *artifact.Value) (string, bool) {
	if v.Is(artifact.Number) && !coreNumber.MatchString(v.Text) {
		return v.Text, true
	}
	return v.Str()
}

// checkField fails on a field that is there and is not good.
func checkField(v *artifact.Value, good bool, what string) error {
	if v == nil || good {
		return nil
	}
	return fmt.Errorf("%s: %s", v.Pos, what)
}

var slugPattern = regexp.MustCompile(`^[a-zA-Z0-9-]+$`)

// loadMode is modeConfigSchema (packages/types/src/mode.ts): unknown keys are
// dropped, anything else that is wrong costs the whole file.
func loadMode(v *artifact.Value, dialect string) (string, *judgedMode, error) {
	if !v.Is(artifact.Object) {
		return "", nil, fmt.Errorf("expected object, received %s", v.Kind)
	}
	slug, _ := schemaText(v.Get("slug"))
	if !slugPattern.MatchString(slug) {
		return "", nil, errors.New("slug must contain only letters numbers and dashes")
	}
	for _, field := range []string{"name", "roleDefinition"} {
		if s, _ := schemaText(v.Get(field)); s == "" {
			return "", nil, fmt.Errorf("%s is required", field)
		}
	}
	for _, field := range []string{"whenToUse", "description", "customInstructions"} {
		_, ok := schemaText(v.Get(field))
		if err := checkField(v.Get(field), ok, field+" must be a string"); err != nil {
			return "", nil, err
		}
	}
	source, _ := schemaText(v.Get("source"))
	if err := checkField(v.Get("source"), source == "global" || source == "project", "source must be global or project"); err != nil {
		return "", nil, err
	}
	m := &judgedMode{}
	var err error
	if m.groups, err = loadGroups(v.Get("groups"), dialect); err != nil {
		return "", nil, err
	}
	m.at = v.Get("groups").Line()
	switch list := v.Get("allowedMcpServers"); {
	case dialect == zoo && list != nil:
		if _, ok := stringList(list); !ok {
			return "", nil, errors.New("allowedMcpServers must be an array of strings")
		}
		m.servers = list
	case dialect == restrictions && v.Get("mcpRestrictions") != nil:
		m.restrictions, err = loadRestrictions(v.Get("mcpRestrictions"))
	}
	return slug, m, err
}

func stringList(v *artifact.Value) ([]string, bool) {
	if !v.Is(artifact.List) {
		return nil, false
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		s, ok := schemaText(item)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// loadGroups is groupEntryArraySchema: a name or a pair of a name and options.
func loadGroups(v *artifact.Value, dialect string) (map[string]judgedGroup, error) {
	if !v.Is(artifact.List) {
		return nil, errors.New("groups must be an array")
	}
	known := []string{"read", "edit", "command", "mcp", "modes"}
	if dialect == zoo {
		known = append(known, "web")
	}
	groups := map[string]judgedGroup{}
	for _, entry := range v.Items {
		first, options := entry, (*artifact.Value)(nil)
		if entry.Is(artifact.List) && len(entry.Items) > 0 {
			first = entry.Items[0]
		}
		name, _ := schemaText(first)
		if name == "browser" {
			continue // deprecatedToolGroups: dropped before anything is checked
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: invalid group", entry.Pos)
		}
		g := judgedGroup{at: entry.Pos, text: "- " + name}
		if entry.Is(artifact.List) {
			if len(entry.Items) != 2 || !entry.Items[1].Is(artifact.Object) {
				return nil, fmt.Errorf("%s: a group is a name or a pair of a name and options", entry.Pos)
			}
			options = entry.Items[1]
		}
		if _, ok := groups[name]; ok {
			return nil, fmt.Errorf("%s: duplicate groups are not allowed", entry.Pos)
		}
		_, ok := schemaText(options.Get("description"))
		if err := checkField(options.Get("description"), ok, "description must be a string"); err != nil {
			return nil, err
		}
		source, ok := schemaText(options.Get("fileRegex"))
		if err := checkField(options.Get("fileRegex"), ok, "fileRegex must be a string"); err != nil {
			return nil, err
		}
		if source != "" {
			re, err := newJudgedRegex(source, false)
			if err != nil {
				return nil, fmt.Errorf("%s: invalid regular expression pattern: %w", options.Get("fileRegex").Pos, err)
			}
			if name == "edit" { // in any other group it says nothing
				g = judgedGroup{at: options.Get("fileRegex").Pos, text: "fileRegex: " + source, regex: re}
			}
		}
		groups[name] = g
	}
	return groups, nil
}
