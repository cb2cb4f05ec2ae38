package codex

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
)

// An agent that the settings of the project list, with a file of settings, is of somebody's own like one with a file in
// the folder of agents.
func TestListedAgents(t *testing.T) {
	project := memfs.FS{".codex/config.toml": []byte("[agents]\nmax_threads = 2\n[agents.wild]\n" +
		"description = \"d\"\nconfig_file = \"wild.toml\"\n[agents.none]\ndescription = \"d\"\n")}
	all := (codex{}).Lodgers(project, memfs.FS{})
	if len(all) != 1 || all[0].Kind != contract.EntryAgent || all[0].Name != "wild" || all[0].At.Line != 3 {
		t.Fatalf("got %+v, want agent wild of line 3", all)
	}
	if all := (codex{}).Lodgers(project, project); len(all) > 0 {
		t.Errorf("got %+v of what a build wrote, want none", all)
	}
}
