// Package cut cuts the network namespace that it runs in off from all others, in one direction or
// in both: packets vanish, and nobody is told. Loopback goes on.
package cut

import (
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// Direction is which packets vanish.
type Direction string

// The directions.
const (
	Both Direction = "both"
	In   Direction = "in"  // what others send
	Out  Direction = "out" // what is sent to others
)

const (
	tableName = "flakeward_cut"
	inName    = "in"
	outName   = "out"
)

// Dropped is how many packets have vanished.
type Dropped struct{ In, Out uint64 }

// Cut has packets vanish from now on, until Heal. A cut that is in place is replaced at once. It
// takes CAP_NET_ADMIN.
//
// TCP does not tell the program of a packet of its own that was dropped on its way out: it sends it
// again, as it does with one that was lost. (A UDP socket would be told.)
func Cut(d Direction) error {
	if d != Both && d != In && d != Out {
		return fmt.Errorf("a cut is %q, %q or %q, not %q", Both, In, Out, d)
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("the packet filter cannot be reached: %w", err)
	}
	c.AddTable(table()) // so that there is one to delete
	c.DelTable(table())
	t := c.AddTable(table())
	if d != Out {
		drop(c, t, inName, nftables.ChainHookPrerouting, expr.MetaKeyIIFNAME)
	}
	if d != In {
		drop(c, t, outName, nftables.ChainHookOutput, expr.MetaKeyOIFNAME)
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("the network cannot be cut: %w (it takes root and CAP_NET_ADMIN)", err)
	}
	return nil
}

func table() *nftables.Table {
	return &nftables.Table{Family: nftables.TableFamilyINet, Name: tableName}
}

// drop adds a chain that drops what is not loopback's.
func drop(c *nftables.Conn, t *nftables.Table, name string, hook *nftables.ChainHook, device expr.MetaKey) {
	chain := c.AddChain(&nftables.Chain{Name: name, Table: t, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityRaw})
	loopback := make([]byte, 16) // the length of a device's name
	copy(loopback, "lo")
	c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: device, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: loopback},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
}

// Heal ends a cut and returns what it dropped. It is no error if there is none.
func Heal() (Dropped, error) {
	c, err := nftables.New()
	if err != nil {
		return Dropped{}, fmt.Errorf("the packet filter cannot be reached: %w", err)
	}
	chains, err := c.ListChainsOfTableFamily(nftables.TableFamilyINet)
	if err != nil {
		return Dropped{}, fmt.Errorf("what is cut cannot be found out: %w", err)
	}
	var dropped Dropped
	found := false
	for _, chain := range chains {
		if chain.Table.Name != tableName {
			continue
		}
		found = true
		n, err := packets(c, chain)
		if err != nil {
			return Dropped{}, fmt.Errorf("what was dropped cannot be found out: %w", err)
		}
		if chain.Name == inName {
			dropped.In = n
		} else {
			dropped.Out = n
		}
	}
	if !found {
		return dropped, nil
	}
	c.DelTable(table())
	if err := c.Flush(); err != nil {
		return Dropped{}, fmt.Errorf("the network cannot be healed: %w (it takes root and CAP_NET_ADMIN)", err)
	}
	return dropped, nil
}

func packets(c *nftables.Conn, chain *nftables.Chain) (uint64, error) {
	rules, err := c.GetRules(table(), chain)
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, r := range rules {
		for _, e := range r.Exprs {
			if counter, ok := e.(*expr.Counter); ok {
				n += counter.Packets
			}
		}
	}
	return n, nil
}
