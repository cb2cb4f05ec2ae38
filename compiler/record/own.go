package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// largest is the most bytes of a record.
const largest = 64 << 20

// Read returns the bytes of a record. It returns nil where there is none, where the file is not
// the user's own or others may write it, and where it is larger than any record.
func Read(place string) []byte {
	if place == "" {
		return nil
	}
	is, err := os.Lstat(place)
	if err != nil || !is.Mode().IsRegular() || !own(is) || is.Size() > largest {
		return nil
	}
	f, err := os.Open(place)
	if err != nil {
		return nil
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(is, opened) {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil || len(data) > largest {
		return nil
	}
	return data
}

// Write puts a record into its place, whole or not at all, and removes what was not used for long
// beside it. Without it the next run takes longer, so that Write ignores errors.
func Write(place string, data []byte) {
	if Keep(place, data) == nil {
		Prune(filepath.Dir(place), kept)
	}
}

// Keep puts a record into its place, whole or not at all. Only the user reads it.
func Keep(place string, data []byte) error {
	if place == "" {
		return errors.New("there is no folder of the user's")
	}
	if len(data) > largest {
		return fmt.Errorf("got more than %d MiB", largest>>20)
	}
	dir := filepath.Dir(place)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), place)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
