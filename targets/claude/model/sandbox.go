package model

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
)

// sandbox is what settings say of the sandbox for commands, each nil where it is not written. The last file that
// writes a value holds.
//
// Observed on 2.1.330: what runs in the sandbox is not asked about, in dontAsk too, but where a deny, an ask for some
// commands or a hook says so; an ask for all of Bash does not hold. Where autoAllow is not written, a switch of the
// vendor's decides, so that it counts as true. Commands that the program still asks about there (excludedCommands, some
// assignments and removals) count as the others: the reading by which more is permitted.
type sandbox struct {
	enabled   *located.Value
	autoAllow *located.Value // autoAllowBashIfSandboxed
}

// sandboxOf returns what a settings file says.
func sandboxOf(read *format.Settings) sandbox {
	of := read.Root.Get("sandbox")
	return sandbox{of.Get("enabled"), of.Get("autoAllowBashIfSandboxed")}
}

// program returns the sandbox of a settings file in which commands run unasked; false for any other.
func (s *sandbox) program() (p contract.Program, ok bool) {
	by := s.unasked()
	if by == nil {
		return p, false
	}
	entry := contract.JSONLine([]any{by.text, s.autoAllow.Any()})
	return contract.Program{Of: "sandbox", Text: by.text, Sum: contract.SumOfProgram(nil, entry, ""), At: by.at,
		Judged: true}, true
}

func (s *sandbox) add(later sandbox) {
	if later.enabled.Is(located.Bool) {
		s.enabled = later.enabled
	}
	if later.autoAllow.Is(located.Bool) {
		s.autoAllow = later.autoAllow
	}
}

// unasked returns what says that commands run without a question, nil where nothing does.
func (s *sandbox) unasked() *place {
	if !s.enabled.True() || s.autoAllow.Is(located.Bool) && !s.autoAllow.True() {
		return nil
	}
	return &place{text: "sandbox: what runs in it is not asked about", at: s.enabled.Line()}
}
