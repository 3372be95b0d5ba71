package rest

import (
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// form is how IDs are to be written: in decimal digits unless the request or the daemon says
// otherwise.
func (q *request) form() (form.Form, *resp.Refusal) {
	name := q.params.Get("as")
	if name == "" && q.params.Has("as") {
		_, err := form.Named(name)
		return 0, resp.Refuse(resp.BadForm, err)
	}
	return q.s.config.named(name)
}

func (c *Config) named(name string) (form.Form, *resp.Refusal) {
	f, err := c.Form, error(nil)
	if name != "" {
		f, err = form.Named(name)
	}
	if err == nil {
		err = c.coder().Can(f)
	}
	if err != nil {
		return 0, resp.Refuse(resp.BadForm, err)
	}
	return f, nil
}

// coder knows the forms that need nothing where there is no other.
func (c *Config) coder() *form.Coder {
	if c.Coder == nil {
		return &form.Coder{}
	}
	return c.Coder()
}

// decode takes an ID apart: an integer or a UUID as it is, or one of the form that as names.
func (c *Config) decode(text, as string) (id int64, parts generator.Parts, refusal *resp.Refusal) {
	var err error
	if as == "" {
		id, err = c.coder().ParseBare(text)
	} else {
		var f form.Form
		if f, refusal = c.named(as); refusal != nil {
			return 0, parts, refusal
		}
		id, err = c.coder().Parse(f, text)
	}
	if err != nil {
		return 0, parts, resp.Refuse(resp.BadID, err)
	}
	if parts, err = c.Layout.Decompose(id); err != nil {
		return 0, parts, resp.Refuse(resp.WrongID, err)
	}
	return id, parts, nil
}
