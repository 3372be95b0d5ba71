/*
 * The slots of a lane: how a tick begins, at number 0 or above it, and how its numbers
 * are taken. A model of its own, for spin: one ring of two slots, a few ticks, two
 * threads that ask for any tick at any moment, and Close.
 *
 * The assertion, in give, is that a number is given once, and that none of a tick above
 * the one that Close told is given. At which number a tick begins decides evenness alone
 * (generator/roll.go), so here it is any; a burst begins one at 0 (beginAtZero). Each
 * step is one look at a slot or one compare-and-swap. The rules are on unless a switch
 * (-DNAME) breaks one; README.md lists them.
 */

#ifndef TICKS
#define TICKS 3
#endif
#define CAP 3            /* numbers of a tick */
#define START 1          /* the highest that one begins at */

typedef Slot {
  unsigned tick : 3;
  unsigned next : 3      /* the number that it gives next */
}
Slot slot[2];

bit given[12];           /* by tick and number */
bit closed, told;        /* closed, and Close has returned */
unsigned last : 3;       /* what it returned */

#define SLOT slot[t % 2]
#define LOOK wasTick = SLOT.tick; wasNext = SLOT.next
#define SAME (SLOT.tick == wasTick && SLOT.next == wasNext)

#ifdef BEGIN_ANEW
#define MAYBEGIN(t) (wasTick <= t)
#else
#define MAYBEGIN(t) (wasTick < t)
#endif
#ifdef BEGIN_STORED
#define SWAPS true
#else
#define SWAPS SAME
#endif

/* roll.go: begin. Whoever is not the first leaves it to the other. */
inline begin(highest) {
  i = 0;
  do :: i < highest -> i++ :: break od;
  if
  :: SWAPS -> SLOT.tick = t; SLOT.next = i; printf("thread %d: begins tick %d at number %d\n", d, t, i)
  :: else
  fi;
  i = 0
}

/* lane.go: Take, the second look at the ceiling, and what the caller gets. */
inline give() {
#ifndef LOOKS_ONCE
  if
  :: closed -> printf("thread %d: throws number %d of tick %d away\n", d, wasNext, t)
  :: else ->
#endif
     issued = given[(t - 1) * CAP + wasNext] || (told && t > last);
     printf("thread %d: ISSUES number %d of tick %d\n", d, wasNext, t);
     assert(!issued);
     given[(t - 1) * CAP + wasNext] = 1
#ifndef LOOKS_ONCE
  fi
#endif
}

proctype thread(byte d) {
  unsigned t : 3; unsigned wasTick : 3; unsigned wasNext : 3; unsigned i : 3;
  bit issued;
end:
  do
  :: atomic { !closed -> t = 1; do :: t < TICKS -> t++ :: break od; LOOK };
     /* first.go: TakeFirst begins a tick of the past itself. */
     if
     :: atomic { MAYBEGIN(t) -> begin(0); LOOK }
     :: atomic { true -> LOOK }
     fi;
     do
     :: atomic { wasTick < t -> begin(START); LOOK }
     :: atomic { wasTick == t && wasNext < CAP && !SAME -> LOOK }
     :: atomic { wasTick == t && wasNext < CAP && SAME -> SLOT.next = wasNext + 1 }; break
     :: atomic { wasTick > t || wasTick == t && wasNext == CAP -> wasNext = CAP }; break
     od;
     atomic {
       if
       :: wasNext < CAP -> give()
       :: else
       fi;
       t = 0; wasTick = 0; wasNext = 0; issued = 0
     }
  od
}

/* lane.go: Close. It closes first, and reads the slots then, one after the other. */
proctype closer() {
  atomic { closed = 1; printf("environment: the lane is closed\n") };
  last = slot[0].tick;
  atomic {
    if :: slot[1].tick > last -> last = slot[1].tick :: else fi;
    told = 1; printf("environment: Close tells tick %d\n", last)
  }
}

init {
  atomic {
    run thread(0); run thread(1); run closer()
  }
}
