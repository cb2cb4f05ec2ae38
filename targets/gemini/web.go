package gemini

import (
	"errors"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

const promptTold = "give one address, and say in plain words what to look for: it is compared with a list"

var webPrompts = grammar{group: ir.Web, tools: []string{format.WebFetch}, argument: format.PromptArg,
	told: promptTold, list: listHost}

// around is what a prompt may say beside the one address that is allowed: nothing that is an address.
const around = `[\w ,;?!()-]*`

// An address in there.
const (
	beforeHost = "(?:" + around + ` |)https:\/\/`
	afterHost  = `(?:/[\w/.-]*|)(?: ` + around + "|)"
)

// listHost adds a rule about hosts.
func listHost(_ *policy.Subject, s *side, r ir.Rule) error {
	host, below := strings.CutPrefix(r.Pattern.Text, "*.")
	if r.Pattern.Text == "*" {
		if r.Decision < ir.Allow {
			return errors.New("a list that names every host")
		}
		s.allow = append(s.allow, anyText)
		return nil
	}
	if !plainHost().MatchString(host) {
		return errors.New("an address by numbers has many forms")
	}
	if r.Decision < ir.Allow {
		expr := `[^\x00]*` + strings.ReplaceAll(host, ".", `\.`)
		if r.Decision == ir.Deny {
			s.deny = append(s.deny, expr)
			return nil
		}
		s.hold = append(s.hold, expr)
	}
	name := strings.ReplaceAll(host, ".", `\.`)
	if below {
		name = `[A-Za-z0-9-][A-Za-z0-9.-]*\.` + name
	}
	expr := beforeHost + name + afterHost
	if r.Decision == ir.Ask {
		s.ask = append(s.ask, expr)
	} else {
		s.allow = append(s.allow, expr)
	}
	return nil
}

var plainHost = lazy.Regexp(`\A[a-z0-9-]+(\.[a-z0-9-]+)*\.?[a-z-][a-z0-9-]*\z`)

// web compiles the group web. A search has no host that a rule could name.
func (w *writer) web() {
	w.lists(&webPrompts)
	search := w.subject.Decide(policy.Action{Group: ir.Web})
	d, late := w.split(&search, ir.Web)
	w.plainly(ir.Web, []string{format.WebSearch}, d, late)
}
