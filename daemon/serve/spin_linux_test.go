package serve

import "testing"

// Polling goes on while it finds something, ends soon after it does not, and is tried again now and then.
func TestSpin(t *testing.T) {
	var s spin
	total := 0
	for range probeEvery - 1 {
		total += s.polls()
		s.failed()
	}
	if total != 0 {
		t.Errorf("%d polls before anything was found", total)
	}
	if n := s.polls(); n != mostPolls {
		t.Errorf("%d polls as a probe, want %d", n, mostPolls)
	}
	s.found()
	for range 10 {
		if n := s.polls(); n != mostPolls {
			t.Errorf("%d polls while they pay, want %d", n, mostPolls)
		}
		s.found()
	}
	total = 0
	for range 20 {
		total += s.polls()
		s.failed()
	}
	if total < mostPolls || total > 2*mostPolls {
		t.Errorf("%d polls until it gave up, want %d to %d", total, mostPolls, 2*mostPolls)
	}
}

// A client by itself is polled for briefly, until there is another.
func TestSpinForALoneClient(t *testing.T) {
	var s spin
	s.found()
	for range loneAfter {
		s.saw(1, 7)
	}
	if n := s.polls(); n != lonePolls {
		t.Errorf("%d polls for one client, want %d", n, lonePolls)
	}
	for _, others := range []func(){func() { s.saw(1, 8) }, func() { s.saw(2, 8) }} {
		others()
		if n := s.polls(); n != mostPolls {
			t.Errorf("%d polls for several clients, want %d", n, mostPolls)
		}
		for range loneAfter {
			s.saw(1, 8)
		}
		if n := s.polls(); n != lonePolls {
			t.Errorf("%d polls for one client again, want %d", n, lonePolls)
		}
	}
}
