package condition

import (
	"errors"

	"github.com/flakeward/flakeward/coord"
)

func as[E error](err error) bool { return errors.As(err, new(E)) }

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// kinds has the codes of the coordinator's errors. An error has the first whose kind it is.
var kinds = []struct {
	is   func(error) bool
	code Code
}{
	{as[*coord.ExhaustedError], WorkersTaken},
	{as[*coord.AheadError], WorkersAhead},
	{as[*coord.RestoredError], Restored},
	{is(coord.ErrOtherCluster), OtherCluster},
	{is(coord.ErrNoCluster), NoCluster},
	{as[*coord.NotServedError], ClusterExported},
	{is(coord.ErrRaised), MarksRaised},
	{is(coord.ErrLost), ClaimLost},
	{is(coord.ErrLogin), LoginRefused},
	{is(coord.ErrAccess), AccessDenied},
}

// Of returns the code of an error of the coordinator's side.
func Of(err error) Code {
	for _, k := range kinds {
		if k.is(err) {
			return k.code
		}
	}
	return CoordinatorGone
}
