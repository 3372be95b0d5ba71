package page

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/flakeward/flakeward/internal/must"
)

// browser is a real one, which scripts/need chromium installs.
type browser struct {
	t      *testing.T
	ctx    context.Context
	weight atomic.Int64 // what was loaded of the page's own files

	mu   sync.Mutex
	said []string
}

func open(t *testing.T) *browser {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900))
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
	must.Get(chromedp.Call(b.ctx, network.Enable, network.EnableParams{}))(t)
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
	must.Do(b.t, chromedp.Do(b.ctx, steps...))
}

// ask returns what an action finds.
func ask[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	return must.Get(chromedp.Run(b.ctx, action))(b.t)
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
	must.Get(chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}))(b.t)
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

// contrasts lists the texts whose contrast is too low, as WCAG reckons it, and how many there are.
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

// unlabelled lists what can be used, or stands for a picture, and has no name for a screen reader.
const unlabelled = `[...document.querySelectorAll('button, a, input, select, summary, svg[role], [role=region], [role=img]')]
  .filter(e => e.getClientRects().length && !(e.ariaLabel || e.textContent.trim() || e.title || e.labels?.length || e.getAttribute('aria-labelledby')))
  .map(e => e.outerHTML.slice(0, 80)).join('\n')`

// labelled fails for controls without a name.
func (b *browser) labelled(t *testing.T) {
	t.Helper()
	if found := ask(b, chromedp.Evaluate[string](unlabelled)); found != "" {
		t.Errorf("these have no label:\n%s", found)
	}
}
