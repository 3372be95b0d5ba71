package budget

import (
	"bytes"
	"testing"
)

func TestABufferThatGrowsKeepsWhatIsInIt(t *testing.T) {
	var buf, want []byte
	for i := range 200 {
		part := bytes.Repeat([]byte{byte(i)}, 20*i)
		buf, want = Append(buf, part), append(want, part...)
	}
	if !bytes.Equal(buf, want) {
		t.Error("what was appended has changed")
	}
}
