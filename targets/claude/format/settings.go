package format

import (
	"errors"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// Settings are the values of a settings file that concern permissions.
type Settings struct {
	Root  *located.Value
	Mode  *located.Value // permissions.defaultMode, nil where it is not written
	Rules []Listed       // in the order deny, ask, allow
	Agent *located.Value // the subagent as which the session runs
	Hooks *located.Value

	NoAuto, NoBypass bool           // the modes that the file disables
	NoHooks          *located.Value // disableAllHooks, nil where it is not written
}

// Listed is an item of a list of rules.
type Listed struct {
	List ir.Decision
	*located.Value
}

// Lists are the keys of the lists of rules, in the order in which Claude Code tries
// them.
var Lists = []struct {
	Key      string
	Decision ir.Decision
}{{"deny", ir.Deny}, {"ask", ir.Ask}, {"allow", ir.Allow}}

// ReadSettings reads a settings file. Claude Code does not load a file for which it
// fails, nor one whose Mode is not a permission mode. The error is a [FormError] where it is about one value.
func ReadSettings(name string, data []byte) (*Settings, error) {
	v, err := located.JSON(name, data)
	if err != nil {
		return nil, err
	}
	if !v.Is(located.Object) {
		return nil, errors.New("want an object")
	}
	if err := checkSettings(v); err != nil {
		return nil, err
	}
	permissions := v.Get("permissions")
	disables := func(key string) bool { text, _ := permissions.Get(key).Str(); return text == "disable" }
	s := &Settings{
		Root: v, Mode: permissions.Get("defaultMode"), Agent: v.Get("agent"), Hooks: v.Get("hooks"),
		NoHooks: v.Get("disableAllHooks"),
		NoAuto:  disables("disableAutoMode"), NoBypass: disables("disableBypassPermissionsMode"),
	}
	for _, list := range Lists {
		for _, item := range permissions.Get(list.Key).List() {
			s.Rules = append(s.Rules, Listed{list.Decision, item})
		}
	}
	return s, nil
}

// ModeOf returns the permission mode that a value names, and whether Claude Code accepts
// it.
func ModeOf(v *located.Value) (mode string, ok bool) {
	mode, ok = v.Str()
	return mode, ok && IsMode(mode)
}

// Layer is a settings file of a session, under those that are laid over it.
type Layer struct {
	File    string // as places name it
	Data    []byte
	Project bool   // of the project, where the mode auto does not count
	Folder  string // from which a path with one leading slash starts; "" the project's
}
