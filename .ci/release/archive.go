package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"slices"
	"strings"
)

// sorted returns files by their names.
func sorted(list []file) []file {
	return slices.SortedFunc(slices.Values(list), func(a, b file) int { return strings.Compare(a.name, b.name) })
}

// writeTar writes a tar.gz in which everything is root's.
func writeTar(w io.Writer, list []file) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range sorted(list) {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)),
			ModTime: epoch, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, list []file) error {
	z := zip.NewWriter(w)
	for _, f := range sorted(list) {
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(f.mode)
		entry, err := z.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
