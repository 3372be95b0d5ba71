package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"sync"
)

//go:embed page.html style.css script.js icon.svg
var files embed.FS

// assetsVersion is another one with each change of a file. A page whose script is of another
// version loads itself again.
var assetsVersion = sync.OnceValue(func() string {
	sum := sha256.New()
	for _, name := range []string{"page.html", "style.css", "script.js", "icon.svg"} {
		sum.Write(file(name))
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
})

func file(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the program was built without it
	}
	return text
}

// asset serves a file. Its URL has its version, so that it is kept.
func asset(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(file(name))
	}
}

// policy allows the page its own files, and nothing else: no script or style within the page,
// nothing from elsewhere, no frame around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets the header fields that each reply has.
func secure(serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		serve(w, r)
	})
}

// foreign reports whether a browser asks on behalf of another site.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// renderer makes HTML. The template is read when it is needed first: most daemons are never looked
// at.
type renderer struct {
	template func() (*template.Template, error)
}

func newRenderer() *renderer {
	return &renderer{sync.OnceValues(func() (*template.Template, error) {
		return template.New("page").Funcs(template.FuncMap{"anchor": anchor}).Parse(string(file("page.html")))
	})}
}

// partNames are the elements that are updated, by their IDs and as the templates call them.
var partNames = []string{"state", "clock", "traffic", "conditions", "log", "members"}

// parts renders the elements that are updated.
func (r *renderer) parts(v view) (map[string]string, error) {
	html := make(map[string]string, len(partNames))
	for _, name := range partNames {
		text, err := r.execute(name, v)
		if err != nil {
			return nil, err
		}
		html[name] = string(text)
	}
	html["assets"] = v.Assets
	return html, nil
}

// page renders all.
func (r *renderer) page(v view) ([]byte, error) { return r.execute("page", v) }

func (r *renderer) execute(name string, v view) ([]byte, error) {
	of, err := r.template()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = of.ExecuteTemplate(&text, name, v)
	return text.Bytes(), err
}
