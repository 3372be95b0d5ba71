//go:build !urfave_cli_no_docs

package cli

// Man returns the manual page flakeward(1), in roff, made of the commands and their flags, with the
// defaults of root.
func Man() (string, error) {
	app := newProgram(defaultPaths(0, func(string) string { return "" }, "", ""), realOutside(nil)).app
	app.Version = release
	return app.ToManWithSection(1)
}
