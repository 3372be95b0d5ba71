package budget

import "testing"

func TestOverTheBudgetTheUserWithMostIsTheHeaviest(t *testing.T) {
	b := New(100)
	one, two, other := b.Open(1000), b.Open(1000), b.Open(7)
	if other.Hold(60) || one.Hold(30) {
		t.Fatal("over the budget too soon")
	}
	if _, excess := b.Heaviest(); excess > 0 {
		t.Fatal("over the budget at 90 of 100")
	}
	if !two.Hold(31) {
		t.Fatal("121 of 100 are not over the budget")
	}
	if u, excess := b.Heaviest(); u != 1000 || excess < 21 || excess > 30 {
		t.Errorf("the heaviest is %d, with %d too much, want the user with two connections of 30 and 31", u, excess)
	}
	one.Hold(0)
	two.Hold(0)
	if u, excess := b.Heaviest(); excess > 0 || b.Used() != 60 {
		t.Errorf("%d, %d too much, %d used", u, excess, b.Used())
	}
}
