package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
)

// shim is the program of the package modec: it starts that of the platform's package.
//
//go:embed npm/modec.js
var shim []byte

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Homepage    string            `json:"homepage"`
	License     string            `json:"license"`
	Bin         map[string]string `json:"bin,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	// PreferUnplugged keeps Yarn from leaving the program in an archive.
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// Node's words for Go's.
var (
	nodeOS  = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	nodeCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// npmName is the name of the package with a platform's program.
func (p platform) npmName() string { return "modec-" + nodeOS[p.os] + "-" + nodeCPU[p.arch] }

// npmPlatform writes the package with a platform's program, which npm installs on that platform only.
func (r *release) npmPlatform(p platform) error {
	if nodeOS[p.os] == "" || nodeCPU[p.arch] == "" {
		return fmt.Errorf("node has no platform %s/%s: add its words to nodeOS and nodeCPU", p.os, p.arch)
	}
	m := r.manifest(p.npmName())
	m.OS, m.CPU, m.PreferUnplugged = []string{nodeOS[p.os]}, []string{nodeCPU[p.arch]}, true
	return r.pack(m, file{"bin/modec" + p.exe(), 0o755, p.program})
}

// npm writes the package modec. Its optional dependencies are those of the same version.
func (r *release) npm() error {
	m := r.manifest("modec")
	m.Bin = map[string]string{"modec": "bin/modec.js"}
	m.Engines = map[string]string{"node": ">=18"}
	m.OptionalDependencies = map[string]string{}
	for _, p := range r.platforms {
		m.OptionalDependencies[p.npmName()] = m.Version
	}
	return r.pack(m, file{"bin/modec.js", 0o755, shim})
}

func (r *release) manifest(name string) manifest {
	return manifest{Name: name, Version: r.semantic(), Description: description, Homepage: homepage,
		License: "MIT"}
}

// pack writes a package as npm packs it: below the folder package.
func (r *release) pack(m manifest, program file) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return err
	}
	list := append([]file{program, {"package.json", 0o644, text.Bytes()}}, r.docs...)
	for i := range list {
		list[i].name = "package/" + list[i].name
	}
	return r.create(m.Name+"-"+m.Version+".tgz", func(w io.Writer) error { return writeTar(w, list) })
}
