package migrate

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/output"
)

// stated returns a file with the entries of its external servers as a source would have them. No build changes such an
// entry: how the server is started is as it lies on the disk, or as it was before modec where it is gone there. Of what
// the source says of its tools an entry counts what it says on the disk or said before: the rest was never in it.
func (e *editor) stated(f *contract.File, data, original []byte) []byte {
	disk, err := contract.ReadImport(e.req.Root, f.Path)
	if err != nil {
		disk = nil
	}
	servers := func(data []byte) *located.Value {
		v, err := located.JSONC(f.Path, data)
		if err != nil {
			return nil
		}
		return v.Get("mcpServers")
	}
	now, before := servers(disk), servers(original)
	var names []string
	want := contract.Object{}
	for _, m := range servers(f.Stated).Fields() {
		on, was := now.Get(m.Key), before.Get(m.Key)
		entry, ok := on.Any().(map[string]any)
		if !ok {
			entry, ok = was.Any().(map[string]any)
		}
		if !ok {
			continue
		}
		for _, list := range m.Value.Fields() {
			said := list.Value.Strings()
			rules := slices.Concat(on.Get(list.Key).Strings(), was.Get(list.Key).Strings())
			rules = slices.DeleteFunc(rules, func(s string) bool { return !slices.Contains(said, s) })
			slices.Sort(rules)
			if entry[list.Key] = slices.Compact(rules); len(rules) == 0 {
				delete(entry, list.Key)
			}
		}
		names = append(names, m.Key)
		want = append(want, m.Key, entry)
	}
	of := output.PatternOf(f)
	of.Keys, of.Resting = nil, nil // the whole entry is a person's
	owned := []jsonedit.Entries{jsonedit.Adopt(data, of, names)}
	text := contract.JSONLine(contract.Object{"mcpServers", want})
	merged, err := jsonedit.Merge(data, text, of, owned, true)
	if err != nil || merged.Data == nil {
		return data
	}
	return merged.Data
}
