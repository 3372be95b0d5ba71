package publicid

import (
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"math/big"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
)

var long = flag.Bool("long", false, "the long form: 100 million public IDs")

const (
	key128 = "2b7e151628aed2a6abf7158809cf4f3c"
	key256 = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func permutationOf(t testing.TB, key string, bits int) *permutation {
	t.Helper()
	p, err := newPermutation(unhex(t, key), bits)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// standard is FF1.Encrypt of NIST SP 800-38G, step by step, for any radix, length and tweak.
func standard(t testing.TB, key, tweak []byte, radix int64, x string) string {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	n := len(x)
	u := n / 2
	v := n - u
	number := func(digits string) *big.Int {
		d, ok := new(big.Int).SetString(digits, int(radix))
		if !ok {
			t.Fatalf("%q is no number of radix %d", digits, radix)
		}
		return d
	}
	power := func(e int) *big.Int { return new(big.Int).Exp(big.NewInt(radix), big.NewInt(int64(e)), nil) }
	b := (new(big.Int).Sub(power(v), big.NewInt(1)).BitLen() + 7) / 8
	d := 4*((b+3)/4) + 4
	first := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), 10, byte(u)}
	first = binary.BigEndian.AppendUint32(first, uint32(n))
	first = binary.BigEndian.AppendUint32(first, uint32(len(tweak)))
	left, right := x[:u], x[u:]
	for i := range 10 {
		q := append([]byte(nil), tweak...)
		q = append(q, make([]byte, (16*16-len(tweak)-b-1)%16)...)
		q = append(append(q, byte(i)), number(right).FillBytes(make([]byte, b))...)
		all := append(append([]byte(nil), first...), q...)
		mac := make([]byte, 16)
		for at := 0; at < len(all); at += 16 {
			for j := range mac {
				mac[j] ^= all[at+j]
			}
			block.Encrypt(mac, mac)
		}
		m := u
		if i%2 == 1 {
			m = v
		}
		if d > 16 {
			t.Fatalf("%d digits are too many for this test's FF1", n)
		}
		c := new(big.Int).Add(number(left), new(big.Int).SetBytes(mac[:d]))
		digits := c.Mod(c, power(m)).Text(int(radix))
		for len(digits) < m {
			digits = "0" + digits
		}
		left, right = right, digits
	}
	return left + right
}

// The test's own FF1 is NIST's: it gives the samples that NIST published with the standard.
func TestTheStandardGivesNISTsSamples(t *testing.T) {
	for i, c := range []struct {
		key, tweak string
		radix      int64
		in, out    string
	}{
		{"2b7e151628aed2a6abf7158809cf4f3c", "", 10, "0123456789", "2433477484"},
		{"2b7e151628aed2a6abf7158809cf4f3c", "39383736353433323130", 10, "0123456789", "6124200773"},
		{"2b7e151628aed2a6abf7158809cf4f3c", "3737373770717273373737", 36, "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
		{"2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94", "", 10, "0123456789", "6657667009"},
		{"2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94", "39383736353433323130", 10, "0123456789", "1001623463"},
		{"2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94", "3737373770717273373737", 36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
	} {
		if got := standard(t, unhex(t, c.key), unhex(t, c.tweak), c.radix, c.in); got != c.out {
			t.Errorf("sample %d: %s, want %s", i+1, got, c.out)
		}
	}
}

// The permutation is FF1 of radix 2 with an empty tweak, whatever the width.
func TestThePermutationIsFF1(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, key := range []string{key128, key256} {
		for bits := 2; bits <= 64; bits++ {
			p := permutationOf(t, key, bits)
			for range 50 {
				x := rng.Uint64() >> (64 - bits)
				digits := strconv.FormatUint(x, 2)
				for len(digits) < bits {
					digits = "0" + digits
				}
				want, err := strconv.ParseUint(standard(t, unhex(t, key), nil, 2, digits), 2, 64)
				if err != nil {
					t.Fatal(err)
				}
				if got := p.encrypt(x); got != want {
					t.Fatalf("%d of %d bits is %d, FF1 gives %d", x, bits, got, want)
				}
				if got := p.decrypt(want); got != x {
					t.Fatalf("%d of %d bits comes from %d, is taken back to %d", want, bits, x, got)
				}
			}
		}
	}
}

// Every number of few bits becomes another one of as many, and comes back.
func TestSmallWidthsArePermutedExhaustively(t *testing.T) {
	for bits := 2; bits <= 14; bits++ {
		p := permutationOf(t, key128, bits)
		hit := make([]bool, 1<<bits)
		for x := range uint64(1) << bits {
			y := p.encrypt(x)
			if y >= uint64(len(hit)) || hit[y] {
				t.Fatalf("%d bits: %d becomes %d, which is too large or was hit before", bits, x, y)
			}
			hit[y] = true
			if back := p.decrypt(y); back != x {
				t.Fatalf("%d bits: %d becomes %d and comes back as %d", bits, x, y, back)
			}
		}
	}
}

// Of numbers that come back, no two become the same: so the permutation is one on all that are
// tried, consecutive IDs and IDs far apart.
func TestManyNumbersComeBack(t *testing.T) {
	each := 50_000
	if *long {
		each = 25_000_000
	}
	var group sync.WaitGroup
	walks := []struct{ start, step uint64 }{{0, 1}, {1 << 60, 1}, {1<<63 - 1, 1<<63 - 1<<22}, {12345, 0x5851f42d4c957f2d >> 1}}
	for i, walk := range walks {
		p := permutationOf(t, []string{key128, key256}[i%2], idBits)
		group.Go(func() {
			x := walk.start
			for range each {
				y := p.encrypt(x)
				if back := p.decrypt(y); back != x || y >= 1<<63 {
					t.Errorf("%d becomes %d, which comes back as %d", x, y, back)
					return
				}
				x = (x + walk.step) & mask(idBits)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	t.Logf("FIGURE %d numbers of 63 bits: each came back", each*len(walks))
}
