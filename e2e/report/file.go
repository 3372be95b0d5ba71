package report

import (
	"encoding/json"
	"fmt"
	"os"
)

// FileName is what a drill's file is called in its folder.
const FileName = "drill.json"

// Save writes the drill to a file.
func Save(path string, d Drill) error {
	data, err := json.Marshal(d)
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot save a drill's record: %w", err)
	}
	return nil
}
