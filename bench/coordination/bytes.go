package main

import (
	"io"
	"os"
	"path/filepath"
)

// written is how many bytes were written to the files. Logs are made full of zeros, which those at
// the end are.
func written(pattern string) (sum int64, err error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		n, err := used(f)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// used is the file's size without the zeros at its end.
func used(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // it was read only
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	for buffer := make([]byte, 1<<20); end > 0; {
		begin := max(0, end-int64(len(buffer)))
		part := buffer[:end-begin]
		if _, err := f.ReadAt(part, begin); err != nil {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != 0 {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	return 0, nil
}
