package policy

import "testing"

// However a line says it, an agent does not take its own hook away.
func TestForPeople(t *testing.T) {
	for _, line := range []string{
		"modec off", "modec off --for 8h", "modec -C . off", "/usr/bin/modec off", "mo''dec off", `"modec" 'off'`,
		"cd x && modec off", "env -i modec off", "script -qc 'modec off' /dev/null", "sh -c 'modec off'",
		"sudo modec clean --keep --yes", "modec clean --keep=true; ls", "yes | modec off", "eval modec off",
		"if true; then modec off; fi", "python3 -c 'import pty; pty.spawn([\"sh\", \"-c\", \"modec off\"])'",
		"x=$(modec off)", "FOO=1 modec off", "modec run --accept dev -- claude", "modec run --accept=true dev -- claude", "claude $(modec args dev --accept)",
	} {
		if !NeedsPerson(line) {
			t.Errorf("%s: an agent may run it", line)
		}
	}
	for _, line := range []string{
		"modec args dev", "git add --accept modec", "modec build", "modec show off-duty", "grep off modec/a.cue", "modec help | less",
		"for f in modec/*; do sed -i 's/off/on/' $f; done", "ls", "", "git commit -m 'turn modec off'",
	} {
		if NeedsPerson(line) {
			t.Errorf("%s: an agent may not run it", line)
		}
	}
}
