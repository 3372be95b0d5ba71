package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a real one.
type browser struct {
	t      *testing.T
	ctx    context.Context
	weight atomic.Int64 // what was loaded of the page's own files

	mu   sync.Mutex
	said []string
}

func open(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Fatal("there is no Chromium: scripts/need chromium installs it")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which root cannot have
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	b := &browser{t: t}
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	files := map[network.RequestID]bool{}
	listening := chromedp.Listen(b.ctx, func(of any) {
		switch e := of.(type) {
		case *network.EventRequestWillBeSent:
			files[e.RequestID] = e.Type != network.ResourceTypeFetch
		case *network.EventLoadingFinished:
			if files[e.RequestID] {
				b.weight.Add(int64(e.EncodedDataLength))
			}
		case *runtime.EventExceptionThrown:
			b.note(e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				b.note(fmt.Sprint("console.", e.Type))
			}
		case *log.EventEntryAdded:
			// Where the coordinator is gone, that is the answer.
			if (e.Entry.Level == "error" || e.Entry.Level == "warning") && !strings.HasSuffix(e.Entry.URL, "/v1/cluster") {
				b.note(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	})
	if listening != nil {
		t.Fatal(listening)
	}
	call(b, network.Enable, network.EnableParams{})
	return b
}

func (b *browser) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, text)
}

// complaints are what the console has of errors and warnings.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.said)
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// ask returns what an action finds.
func ask[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	found, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// call sends a command.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	reply, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return reply
}

func (b *browser) visit(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// until waits until a condition holds on the page, and returns how long that took.
func (b *browser) until(what, condition string) time.Duration {
	b.t.Helper()
	begun := time.Now()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for ; ; <-again.C {
		// A page that is being left has no answer.
		if holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`!!(`+condition+`)`)); err == nil && holds {
			return time.Since(begun).Round(time.Millisecond)
		}
		if time.Since(begun) > mostTime {
			has, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
			b.t.Fatalf("%s: not within %v. The page says:\n%s\nThe console says: %q", what, mostTime, has, b.complaints())
		}
	}
}

func (b *browser) scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// tooWide names what reaches beyond the right end of the page, if that can be scrolled to.
const tooWide = `(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return '';
  return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > root.clientWidth && !e.closest('.scroll'))
    .map(e => e.tagName + '.' + e.getAttribute('class')).join(', ') || 'something';
})()`

// cutOff names the regions whose content has no room.
const cutOff = `[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.getAttribute('aria-label')).join(', ')`

// contrasts lists the texts whose contrast is too low, as WCAG reckons it, and how many texts there are.
const contrasts = `(() => {
  const rgb = c => (c.match(/[\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const low = [];
  let texts = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e);
    if (!walk.currentNode.nodeValue.trim() || !e.getClientRects().length || ['SCRIPT', 'NOSCRIPT'].includes(e.tagName)) continue;
    texts++;
    const [a, b] = [light(rgb(e.namespaceURI.endsWith('svg') ? style.fill : style.color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push(ratio.toFixed(2) + ': ' + walk.currentNode.nodeValue.trim().slice(0, 30));
  }
  return {texts, low, ground: ground(document.body).join()};
})()`

// legible fails for texts that do not stand out.
func (b *browser) legible(t *testing.T) {
	t.Helper()
	found := ask(b, chromedp.Evaluate[struct {
		Texts  int      `json:"texts"`
		Low    []string `json:"low"`
		Ground string   `json:"ground"`
	}](contrasts))
	if found.Texts < 50 || len(found.Low) > 0 {
		t.Errorf("of %d texts on %s, these have a contrast below 4.5: %q", found.Texts, found.Ground, found.Low)
	}
}

// control is something that can be used, or stands for a picture, as a screen reader has it.
type control struct{ Role, Name string }

// controls walks the accessibility tree.
func (b *browser) controls() (all []control) {
	b.t.Helper()
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		of := control{valueOf(n.Role), valueOf(n.Name)}
		switch strings.ToLower(of.Role) {
		case "button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "disclosuretriangle", "region", "img", "image":
			if !n.Ignored {
				all = append(all, of)
			}
		}
	}
	return all
}

func valueOf(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text)
	}
	return text
}

// labelled fails for controls without a name.
func labelled(t *testing.T, all []control) {
	t.Helper()
	roles := map[string]bool{}
	for _, c := range all {
		roles[c.Role] = true
		if strings.TrimSpace(c.Name) == "" {
			t.Errorf("a %s has no label", c.Role)
		}
	}
	for _, role := range []string{"button", "textbox", "combobox", "region"} {
		if !roles[role] {
			t.Errorf("there is no %s among %v", role, all)
		}
	}
}
