package model

import (
	"path"
	"strings"

	"modec.dev/modec/targets/claude/format/rule"
)

// bashRule is Bash(pattern). Without "*" it matches the exact text. A " *" at the end that is
// its only wildcard matches the bare command too, and so does ":*", before which a "*" is text.
// Any other "*" matches whatever stands there: Bash(git push * -f *) does not match
// `git push x -f`. Observed on 2.1.330.
type bashRule struct {
	place
	all      bool
	pieces   []string
	boundary bool
}

func newBashRule(p place, spec string) bashRule {
	r := bashRule{place: p, all: spec == "*"}
	spec = strings.ReplaceAll(spec, `\*`, "\x00")
	if text, ok := strings.CutSuffix(spec, ":*"); ok {
		r.boundary, spec = true, strings.ReplaceAll(text, "*", "\x00")
	} else if text, ok := strings.CutSuffix(spec, " *"); ok && !strings.Contains(text, "*") {
		r.boundary, spec = true, text
	}
	for _, piece := range strings.Split(spec, "*") {
		r.pieces = append(r.pieces, strings.ReplaceAll(piece, "\x00", "*"))
	}
	return r
}

func (r *bashRule) match(text string) bool {
	if r.all {
		return true
	}
	if !r.boundary {
		return rule.Match(r.pieces, text)
	}
	rest, ok := strings.CutPrefix(text, r.pieces[0])
	return ok && (rest == "" || rest[0] == ' ')
}

// exact reports whether a rule has no wildcard.
func (r *bashRule) exact() bool { return !r.boundary && len(r.pieces) == 1 }

// texts fills in the texts on which the rules are tried. Observed on 2.1.329: quotes, escapes and runs
// of blanks do not hide a command from a rule with a wildcard. An exact allow rule requires single
// blanks. Deny and ask rules take a quoted blank for any. Allow rules see through timeout, time, nice,
// nohup, stdbuf and command. Deny and ask rules also see through assignments, env, sudo, xargs, exec
// and the folder of the program, and not through sh -c.
func (s *simple) texts() {
	if len(s.words) == 0 {
		return
	}
	if !s.env {
		s.free = append(s.free, s.raw, joined(s.words))
		if w := unwrap(s.words, allowWrappers); len(w) < len(s.words) {
			s.free = append(s.free, joined(w))
		}
	}
	s.held = append(s.held, s.raw)
	for w := s.words; len(w) > 0; {
		s.held = append(s.held, strings.Join(w, " "))
		if base := path.Base(w[0]); base != w[0] && base != "/" {
			w = append([]string{base}, w[1:]...)
			if _, wraps := denyWrappers[base]; !wraps { // Bash(sudo *) does not match /usr/bin/sudo
				s.held = append(s.held, strings.Join(w, " "))
			}
		}
		next := unwrapOne(w, denyWrappers)
		if len(next) == len(w) {
			break
		}
		w = next
	}
}

// joined returns words with one blank between them, those that contain a blank in quotes.
func joined(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if strings.ContainsAny(w, " \t\n") {
			w = "'" + w + "'"
		}
		b.WriteString(w)
	}
	return b.String()
}

// wrappers maps a program that runs another one to those of its own options that take a
// value.
type wrappers map[string]string

var (
	allowWrappers = wrappers{"timeout": "k s", "time": "f o", "nice": "n", "nohup": "", "stdbuf": "", "command": ""}
	denyWrappers  = wrappers{
		"timeout": "k s", "time": "f o", "nice": "n", "nohup": "", "stdbuf": "", "command": "", "builtin": "",
		"env": "u C S", "sudo": "u g h p C r t", "xargs": "I n P L s E d", "exec": "a",
	}
)

func unwrap(words []string, by wrappers) []string {
	for {
		next := unwrapOne(words, by)
		if len(next) == len(words) || len(next) == 0 {
			return words
		}
		words = next
	}
}

func unwrapOne(words []string, by wrappers) []string {
	if len(words) == 0 {
		return words
	}
	values, ok := by[words[0]]
	if !ok {
		return words
	}
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
		flag := rest[0]
		rest = rest[1:]
		if flag == "--" {
			break
		}
		if len(flag) == 2 && strings.Contains(values, flag[1:]) && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	switch words[0] {
	case "timeout":
		if len(rest) > 0 {
			rest = rest[1:]
		}
	case "env":
		for len(rest) > 0 && strings.Contains(rest[0], "=") {
			rest = rest[1:]
		}
	}
	return rest
}
