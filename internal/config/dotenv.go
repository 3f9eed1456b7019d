// This file reads .env and tells what is a secret by its name.

package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"sandboxagent/editors"
)

// readEnvFile returns the variables of a .env file, none when it does not exist.
func readEnvFile(path string) (map[string]string, []Warning, error) {
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, editors.Errorf(editors.CodeInvalidParams, "The file %s cannot be read: %w.", path, err)
	}
	values, err := godotenv.Parse(bytes.NewReader(text))
	if err != nil { // whose text repeats the line, and with it the key
		return nil, nil, editors.Errorf(editors.CodeInvalidParams, "The file %s cannot be understood.", path).
			WithRemedy("Write one NAME=value per line.")
	}
	return values, checkPrivate(path), nil
}

// checkPrivate warns of a file that others can read.
func checkPrivate(path string) []Warning {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return []Warning{{File: path, Message: "other users can read the keys in this file; run chmod 600 on it"}}
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{modified: info.ModTime(), size: info.Size(), mode: uint32(info.Mode())}
}

// secretEndings are the ends of the names of variables that hold secrets.
var secretEndings = []string{
	"API_KEY", "APIKEY", "ACCESS_KEY", "SECRET_KEY", "PRIVATE_KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS",
}

// looksSecret tells whether a variable or the last part of a dotted key is named like a secret.
func looksSecret(name string) bool {
	name = strings.ToUpper(strings.ReplaceAll(name[strings.LastIndexByte(name, '.')+1:], "-", "_"))
	return slices.ContainsFunc(secretEndings, func(end string) bool { return strings.HasSuffix(name, end) })
}
