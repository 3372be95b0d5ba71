// Command sbom prints what a program is made of, in CycloneDX's JSON: the modules that the compiler
// has written into it. The same program gives the same bytes.
package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "sbom: give the program's path and its version")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(program, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	bom := cyclonedx.NewBOM()
	main := component(debug.Module{Path: info.Main.Path, Version: version}, cyclonedx.ComponentTypeApplication)
	var properties []cyclonedx.Property
	for _, s := range info.Settings {
		properties = append(properties, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	main.Properties = &properties
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	components := []cyclonedx.Component{component(debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}, cyclonedx.ComponentTypeLibrary)}
	needs := []string{components[0].BOMRef}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component(*m, cyclonedx.ComponentTypeLibrary)
		components, needs = append(components, c), append(needs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	return cyclonedx.NewBOMEncoder(os.Stdout, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// component is a module as CycloneDX has it. Its checksum is that of go.sum.
func component(m debug.Module, kind cyclonedx.ComponentType) cyclonedx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cyclonedx.Component{Type: kind, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}
