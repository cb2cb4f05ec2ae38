package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

type hookCmd struct {
	Agent    string `arg:"" help:"The agent that asks: ${hookers}."`
	Model    string `required:"" placeholder:"FILE" help:"The compiled policy, of the project or of a session."`
	Subject  string `required:"" placeholder:"NAME" help:"The mode or role that the session works as."`
	Digest   string `placeholder:"HEX" help:"Refuse where the policy is not the one of the build."`
	Root     string `placeholder:"DIR" help:"The project's folder, where the policy is a copy."`
	MayAllow bool   `help:"Answer allow where the policy allows, instead of abstaining."`
}

func (hookCmd) here() {}

const (
	hookDeadline = 2 * time.Second
	hookPayload  = 8 << 20 // bytes
	hookModel    = 64 << 20
)

// wayOut is what a person can do where a hook refuses because it cannot decide.
const wayOut = "a person can turn the hooks off for an hour, in a terminal, by `modec off`, " +
	"or leave modec by `modec clean --keep`"

// Run always answers: whatever goes wrong is a refusal.
func (c *hookCmd) Run(e *env) error {
	e.ui.Endless = true // the answer counts, whoever ends the session
	start := time.Now()
	var asked hookRecord
	done := make(chan contract.HookAnswer, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- contract.Refuse(fmt.Sprintf("the hook failed: %v", r))
			}
		}()
		done <- c.answer(e, &asked, start)
	}()
	var a contract.HookAnswer
	select {
	case a = <-done:
	case <-time.After(hookDeadline):
		a = contract.Refuse(fmt.Sprintf("no answer within %s", hookDeadline))
	}
	if a.Exit == 0 {
		if _, err := e.ui.Out.Write(a.Stdout); err != nil {
			a = contract.Refuse(fmt.Sprintf("the answer could not be written: %v", err))
		}
	}
	if a.Stderr != "" {
		fmt.Fprintf(e.ui.Err, "modec: %s\nmodec: %s\n", a.Stderr, wayOut)
	}
	e.tellLost(asked.write(c.Agent, a, start))
	if a.Exit != 0 {
		return report.ExitUsage
	}
	return nil
}

func (c *hookCmd) answer(e *env, asked *hookRecord, now time.Time) contract.HookAnswer {
	hooker := e.hooker(c.Agent)
	if hooker == nil {
		return contract.Refuse(fmt.Sprintf("agent %q has no hook that modec answers", c.Agent))
	}
	model := c.Model
	if !filepath.IsAbs(model) {
		model = filepath.Join(e.dir, model)
	}
	model, root := c.locate(e, model)
	if off := disarmed(root, filepath.Dir(filepath.Dir(model))); off != nil {
		return contract.HookAnswer{Stdout: []byte("{}\n")}
	}
	p, err := readPolicy(model)
	if err != nil {
		return contract.Refuse(err.Error())
	}
	p = policy.HookView(p, hooker.Name())
	ref, err := p.ParseSubject(c.Subject, "")
	if err != nil {
		return contract.Refuse(err.Error())
	}
	if p.Audit != nil {
		asked.about.Store(&hookSubject{root, p, ref, c.Digest})
	}
	if c.Digest != "" && c.Digest != p.Digest(ref) {
		return contract.Refuse(fmt.Sprintf("the policy %s is not the one of the build that wrote this hook: "+
			"run `modec build`", model))
	}
	payload, err := io.ReadAll(io.LimitReader(e.stdin, hookPayload+1))
	if err != nil {
		return contract.Refuse(fmt.Sprintf("the payload could not be read: %v", err))
	}
	if len(payload) > hookPayload {
		return contract.Refuse(fmt.Sprintf("the payload is over %d bytes", hookPayload))
	}
	home, _ := os.UserHomeDir()
	return hooker.Hook(contract.HookRequest{Payload: payload, Policy: policy.New(p).At(now), Subject: ref,
		Root: root, MayAllow: c.MayAllow,
		Resolve: contract.ResolveLinks, Home: home, Same: contract.SameFolder, Folds: true,
		Worktree: func(dir string) (string, bool) { return contract.ProjectIn(root, dir) }})
}

// locate returns the policy file and the project's folder. A hook that travels names the policy
// below the folder in which the agent was started. In a subfolder it is that of a folder above,
// and in a work tree of git, where it may be missing, that of the main one. Only a hook that
// names the digest of its policy looks there: no other policy can take its place.
func (c *hookCmd) locate(e *env, model string) (file, root string) {
	start := filepath.Dir(filepath.Dir(model))
	if c.Root != "" {
		return model, e.abs(c.Root)
	}
	if c.Digest == "" || isRegular(model) {
		return model, start
	}
	tree, inTree := contract.FindWorktree(start)
	for dir := start; ; dir = filepath.Dir(dir) {
		if file := filepath.Join(dir, filepath.FromSlash(contract.PolicyFile)); isRegular(file) {
			return file, dir
		}
		if inTree {
			main, ok := tree.InMain(dir)
			if file := filepath.Join(main, filepath.FromSlash(contract.PolicyFile)); ok && isRegular(file) {
				return file, dir
			}
		}
		if dir == filepath.Dir(dir) {
			return model, start
		}
	}
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (e *env) hooker(name string) contract.Hooker {
	for _, t := range e.targets {
		if h, ok := t.(contract.Hooker); ok && t.Name() == name {
			return h
		}
	}
	return nil
}

func readPolicy(file string) (*ir.Project, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the policy cannot be read: %w; run `modec build` in the project", err)
	}
	defer f.Close()
	p, err := ir.Unmarshal(io.LimitReader(f, hookModel))
	if err != nil {
		return nil, fmt.Errorf("the policy %s cannot be used: %w; run `modec build` in the project", file, err)
	}
	return p, nil
}
