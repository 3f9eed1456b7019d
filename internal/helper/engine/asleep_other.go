// This file stands for telling whether a command waits for input where the system does not say what processes sleep on.

//go:build !linux

package engine

import "os"

type inputFile struct{}

func identify(*os.File, bool) (inputFile, error) { return inputFile{}, nil }

func asleep(int, inputFile) bool { return false }
