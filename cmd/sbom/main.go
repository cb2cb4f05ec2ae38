// Sbom writes what a release is made of as a CycloneDX document: the modules that are
// linked into a binary, as the linker recorded them. It says nothing of the time or the
// machine, so that the same source gives the same bytes.
//
//	sbom BINARY > modec.cdx.json
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(2)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("got no binary, want one")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	e := cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON)
	e.SetPretty(true)
	return e.EncodeVersion(document(info), cyclonedx.SpecVersion1_6)
}

// document describes a binary and the modules in it.
func document(info *debug.BuildInfo) *cyclonedx.BOM {
	main := component(info.Main, release(info))
	main.Type = cyclonedx.ComponentTypeApplication
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	components := []cyclonedx.Component{{BOMRef: "pkg:golang/std@" + info.GoVersion, Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, component(*m, m.Version))
	}
	slices.SortFunc(components, func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

func component(m debug.Module, version string) cyclonedx.Component {
	purl := "pkg:golang/" + m.Path + "@" + version
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: version, PackageURL: purl}
}

// release is the version that the release build gave the program.
func release(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "-ldflags" {
			if _, rest, ok := strings.Cut(s.Value, "main.release="); ok {
				version, _, _ := strings.Cut(rest, " ")
				return strings.Trim(version, `"'`)
			}
		}
	}
	return info.Main.Version
}
