package form_test

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
)

// all are all forms, and complete is a coder that knows them, of a layout with 63 bits.
var all = []form.Form{form.Integer, form.String, form.Base62, form.UUID}

const cluster = "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81"

func complete(tb testing.TB) *form.Coder {
	tb.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(tb)
	return form.New(layout, cluster)
}

func TestTextsOfKnownIDs(t *testing.T) {
	for _, c := range []struct {
		form form.Form
		id   int64
		text string
	}{
		{form.Integer, 0, "0"},
		{form.String, math.MaxInt64, "9223372036854775807"},
		{form.Base62, 0, "00000000000"},
		{form.Base62, 61, "0000000000z"},
		{form.Base62, 62, "00000000010"},
		{form.Base62, math.MaxInt64, "AzL8n0Y58m7"},
	} {
		var coder form.Coder
		if got := string(coder.Append(nil, c.form, c.id)); got != c.text {
			t.Errorf("%s of %d is %q, want %q", c.form, c.id, got, c.text)
		}
		if got, err := coder.Parse(c.form, c.text); got != c.id || err != nil {
			t.Errorf("Parse(%s, %q) = %d, %v, want %d", c.form, c.text, got, err, c.id)
		}
	}
}

// Texts of a fixed width sort as the numbers.
func TestEachIDIsReadBackFromEachForm(t *testing.T) {
	coder := complete(t)
	rapid.Check(t, func(t *rapid.T) {
		id, other := rapid.Int64Min(0).Draw(t, "id"), rapid.Int64Min(0).Draw(t, "other")
		f := rapid.SampledFrom(all).Draw(t, "form")
		text := string(coder.Append(nil, f, id))
		if got, err := coder.Parse(f, text); got != id || err != nil {
			t.Fatalf("%s of %d is %q, which is read as %d, %v", f, id, text, got, err)
		}
		if width := f.Width(); width > 0 && len(text) != width || len(text) > form.Widest {
			t.Fatalf("%s of %d is %q: %d bytes, not %d", f, id, text, len(text), width)
		}
		if than := string(coder.Append(nil, f, other)); f.Width() > 0 && cmp.Compare(id, other) != cmp.Compare(text, than) {
			t.Fatalf("%d is %q, and %d is %q", id, text, other, than)
		}
	})
}

func TestGarbageIsToldWhatIsWrongAndWhatItMayBe(t *testing.T) {
	for _, c := range []struct {
		form form.Form
		text string
		want string
	}{
		{form.Integer, "", "no digits"},
		{form.Integer, "12x", `has "x"`},
		{form.Integer, "12é", `has "é"`},
		{form.Integer, "012", "a zero too many"},
		{form.Integer, " 12", `has " "`},
		{form.Integer, "+12", `has "+"`},
		{form.Integer, "-12", "negative"},
		{form.Integer, "9223372036854775808", "above 9223372036854775807"},
		{form.Integer, "0000000000z", "may be base62: name that form"},
		{form.Base62, "0000000000", "10 characters, not 11"},
		{form.Base62, "12", "may be string"},
		{form.Base62, "0000000000-", `has "-"`},
		{form.Base62, "000000000é", `has "é"`},
		{form.Base62, "AzL8n0Y58m8", "above"},
		{form.Base62, "zzzzzzzzzzz", "above"},
	} {
		var coder form.Coder
		_, err := coder.Parse(c.form, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s, %q): %v, want an error with %q", c.form, c.text, err, c.want)
		}
	}
}

func TestABareTextIsNeverGuessed(t *testing.T) {
	var coder form.Coder
	for text, want := range map[string]string{
		"0000000000z":                          "may be base62",
		"018f4c7e-9b5a-7000-8000-000000000000": "cluster's UUID",
	} {
		if id, err := coder.ParseBare(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseBare(%q) = %d, %v, want an error with %q", text, id, err, want)
		}
	}
	if id, err := coder.ParseBare("12"); id != 12 || err != nil {
		t.Errorf("ParseBare of an integer: %d, %v", id, err)
	}
}

func TestAFormThatThereIsNotIsSaid(t *testing.T) {
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	old, err := generator.ParseLayout("flakeward;epoch=1960-01-01")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		coder *form.Coder
		form  form.Form
		want  string
	}{
		{new(form.Coder), form.UUID, "cluster's UUID"},
		{form.New(layout, ""), form.UUID, "cluster's UUID"},
		{form.New(old, ""), form.UUID, "before 1970"},
	} {
		if err := c.coder.Can(c.form); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.form, err, c.want)
		}
		if _, err := c.coder.Parse(c.form, "x"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s): %v, want an error with %q", c.form, err, c.want)
		}
	}
	for _, f := range all {
		if err := complete(t).Can(f); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestNamesAreFoundInAnyCaseAndNearOnesAreNamed(t *testing.T) {
	for _, name := range form.Names() {
		f, err := form.Named(strings.ToUpper(name))
		if err != nil || f.String() != name {
			t.Errorf("form.Named(%q) = %s, %v", name, f, err)
		}
	}
	if _, err := form.Named("base64"); err == nil || !strings.Contains(err.Error(), "did you mean base62? There are integer, string, base62, uuid") {
		t.Errorf("of base64: %v", err)
	}
	for _, name := range []string{"hex", "bignum", "public"} {
		if _, err := form.Named(name); err == nil || !strings.Contains(err.Error(), "integer, string, base62, uuid") {
			t.Errorf("of %s: %v", name, err)
		}
	}
	if _, err := form.Named(strings.Repeat("x", 1000)); err == nil || !strings.Contains(err.Error(), "integer, string") || len(err.Error()) > 300 {
		t.Errorf("of a long word: %v", err)
	}
}

// FuzzParse: a text is refused in few words, or it is what is written of the ID.
func FuzzParse(f *testing.F) {
	coder := complete(f)
	for _, text := range []string{"", "0", "12", "-1", "AzL8n0Y58m7", "7fffffffffffffff", "9223372036854775808",
		string(coder.Append(nil, form.UUID, 1))} {
		for _, as := range all {
			f.Add(uint8(as), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		as := all[int(which)%len(all)]
		id, err := coder.Parse(as, text)
		if err != nil {
			if id != 0 || len(err.Error()) > 1000 {
				t.Fatalf("Parse(%s, %q) = %d, %v", as, text, id, err)
			}
			return
		}
		if again := string(coder.Append(nil, as, id)); id < 0 || again != text {
			t.Fatalf("%s %q is read as %d, which is %q", as, text, id, again)
		}
	})
}
