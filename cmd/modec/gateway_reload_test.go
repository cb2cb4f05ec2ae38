package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
	"modec.dev/modec/targets/mcp/gateway"
)

// A gateway that runs takes pins that narrow, says which wait, and keeps what it serves where they cannot be read.
func TestGatewayTakesChangedPins(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.roo]\n"))
	mustWrite(t, filepath.Join(dir, "modec", "a.json"),
		[]byte(`{"servers": {"shop": {"command": "x", "tools": {"list": {}}}}, "roles": {"r": {"can": {"mcp": "allow"}}}}`))
	said := &transcript{}
	e := testEnv(t.Context(), dir, said)
	w, err := e.watch()
	if err != nil {
		t.Fatal(err)
	}
	w.also = pins.File
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	ref := ir.SubjectRef{Role: "r"}
	l := &gatewayLoader{env: e, ref: ref, log: slog.New(slog.NewTextHandler(said, nil))}
	g, err := gateway.New(res.Policy, gateway.Options{Subject: ref, Version: "test", Root: dir, Logger: l.log})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	l.gateway = g
	go func() { _ = w.run(e.ctx, l.reload) }()

	file := filepath.Join(dir, pins.File)
	pinned := func(sv *ir.Server) []byte {
		set := &pins.Set{}
		set.Take(pins.Of(sv), pins.Added)
		return set.Bytes()
	}
	tells := func(text string) {
		t.Helper()
		eventually(t, "said "+text, func() bool { return strings.Contains(said.String(), text) }, said)
	}
	mustWrite(t, file, pinned(res.Project.Server("shop")))
	tells("serving the changed source")
	mustWrite(t, file, []byte("{"))
	tells("the pins cannot be read; what was served last is")
	if len(g.Table().Servers()) != 1 {
		t.Error("the server is gone with a file that cannot be read")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	tells("of which nothing is pinned any more")
	mustWrite(t, file, pinned(&ir.Server{Name: "shop", Command: "other"}))
	tells("modec inventory --pin shop:entry")
	if got := g.Table().Servers(); len(got) != 0 {
		t.Errorf("got %v of a server that was pinned otherwise", got)
	}
	builds, err := e.watch()
	if err != nil {
		t.Fatal(err)
	}
	defer builds.w.Close()
	if builds.concerns(fsnotify.Event{Name: file, Op: fsnotify.Write}) {
		t.Error("pins start a build")
	}
}
