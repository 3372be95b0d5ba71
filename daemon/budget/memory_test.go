package budget

import (
	"testing"
	"testing/fstest"
)

func TestTheLowestLimitOfTheCgroupsAboveTheProcessCounts(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"version 2":            {"0::/a/b\n", map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "268435456\n"}, 268435456},
		"version 2, container": {"0::/\n", map[string]string{"memory.max": "134217728\n"}, 134217728},
		"not mounted there":    {"0::/../x\n", map[string]string{"memory.max": "134217728\n"}, 134217728},
		"version 1": {"4:memory:/c\n0::/\n", map[string]string{
			"memory/c/memory.limit_in_bytes": "1073741824\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1073741824},
		"version 1, none": {"4:memory:/c\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"none":            {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		"not readable":    {"garbage\n", map[string]string{"memory.max": "1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(c.groups)}}
			for path, text := range c.files {
				root["sys/fs/cgroup/"+path] = &fstest.MapFile{Data: []byte(text)}
			}
			got, ok := cgroupLimit(root)
			if ok != (c.want > 0) || ok && got != c.want {
				t.Errorf("%d, %v, want %d", got, ok, c.want)
			}
		})
	}
}
