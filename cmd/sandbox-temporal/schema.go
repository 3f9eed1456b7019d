// This file exists because Temporal neither records nor upgrades the schema of an SQLite file: both happen here.

package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/server/schema"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

const (
	executionSchema  = "sqlite/v3/temporal/schema.sql"
	executionUpdates = "sqlite/v3/temporal/versioned"
	visibilitySchema = "sqlite/v3/visibility/schema.sql" // has no versioned updates; see rebuildVisibility
)

// stamp is what agent_meta records: the version of the execution schema and the hash of the visibility schema.
type stamp struct{ schema, visibility string }

// currentStamp is the stamp of the schemas inside this binary.
func currentStamp() (stamp, error) {
	b, err := fs.ReadFile(schema.Assets(), visibilitySchema)
	if err != nil {
		return stamp{}, fmt.Errorf("reading the visibility schema: %w", err)
	}
	sum := sha256.Sum256(b)
	return stamp{schema: sqliteschema.Version, visibility: hex.EncodeToString(sum[:8])}, nil
}

// prepareSchema creates the schema in an empty file, upgrades an older one after a backup beside file, and refuses
// a newer one. Each change is one transaction: a crash leaves the file as it was.
func prepareSchema(ctx context.Context, db *sql.DB, file string, log *slog.Logger) error {
	want, err := currentStamp()
	if err != nil {
		return err
	}
	have, fresh, err := readStamp(ctx, db)
	if err != nil {
		return err
	}
	if fresh {
		return inTx(ctx, db, func(tx *sql.Tx) error { return createSchema(ctx, tx, want) })
	}
	order, err := compareVersions(have.schema, want.schema)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errRefused, err)
	case order > 0:
		return fmt.Errorf("%w: its schema %s is newer than %s, the newest this version of sandbox-temporal knows; "+
			"install the newer version again, or move the database away to start empty", errRefused, have.schema, want.schema)
	case have == want:
		return nil
	}
	backup := file + ".backup-" + have.schema
	log.Warn("upgrading the database", "from", have.schema, "to", want.schema, "backup", backup)
	if err := backupInto(ctx, db, backup); err != nil {
		return err
	}
	return inTx(ctx, db, func(tx *sql.Tx) error { return upgradeSchema(ctx, tx, have, want) })
}

// readStamp reports fresh for a file without any table.
func readStamp(ctx context.Context, db *sql.DB) (s stamp, fresh bool, err error) {
	var tables, meta int
	if err := db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(name = 'agent_meta'), 0) FROM sqlite_master WHERE type = 'table'`).Scan(&tables, &meta); err != nil {
		return s, false, fmt.Errorf("listing tables: %w", err)
	}
	if tables == 0 {
		return s, true, nil
	}
	if meta == 0 {
		return s, false, fmt.Errorf("%w: it was not made by sandbox-temporal (no agent_meta table)", errRefused)
	}
	if err := db.QueryRowContext(ctx, `SELECT schema, visibility FROM agent_meta`).Scan(&s.schema, &s.visibility); err != nil {
		return s, false, fmt.Errorf("reading the schema version: %w", err)
	}
	return s, false, nil
}

func createSchema(ctx context.Context, tx *sql.Tx, s stamp) error {
	if err := execFiles(ctx, tx, executionSchema, visibilitySchema); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `CREATE TABLE agent_meta(schema TEXT NOT NULL, visibility TEXT NOT NULL)`); err != nil {
		return fmt.Errorf("creating agent_meta: %w", err)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO agent_meta VALUES (?, ?)`, s.schema, s.visibility)
	return err
}

func upgradeSchema(ctx context.Context, tx *sql.Tx, have, want stamp) error {
	updates, err := updatesBetween(have.schema, want.schema)
	if err != nil {
		return err
	}
	if err := execFiles(ctx, tx, updates...); err != nil {
		return err
	}
	if have.visibility != want.visibility {
		if err := rebuildVisibility(ctx, tx); err != nil {
			return fmt.Errorf("rebuilding visibility: %w", err)
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE agent_meta SET schema = ?, visibility = ?`, want.schema, want.visibility)
	return err
}

// updatesBetween lists the update files from version have (exclusive) to want (inclusive) in the order to run them.
func updatesBetween(have, want string) ([]string, error) {
	dirs, err := fs.ReadDir(schema.Assets(), executionUpdates)
	if err != nil {
		return nil, fmt.Errorf("listing schema updates: %w", err)
	}
	var versions []string
	for _, d := range dirs {
		v := strings.TrimPrefix(d.Name(), "v")
		after, err := compareVersions(v, have)
		if err != nil {
			return nil, err
		}
		if upTo, err := compareVersions(v, want); err != nil {
			return nil, err
		} else if after > 0 && upTo <= 0 {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { order, _ := compareVersions(a, b); return order })
	var files []string
	for _, v := range versions {
		dir := path.Join(executionUpdates, "v"+v)
		b, err := fs.ReadFile(schema.Assets(), path.Join(dir, "manifest.json"))
		if err != nil {
			return nil, fmt.Errorf("reading schema update %s: %w", v, err)
		}
		var manifest struct{ SchemaUpdateCqlFiles []string }
		if err := json.Unmarshal(b, &manifest); err != nil {
			return nil, fmt.Errorf("reading schema update %s: %w", v, err)
		}
		for _, f := range manifest.SchemaUpdateCqlFiles {
			files = append(files, path.Join(dir, f))
		}
	}
	return files, nil
}

// rebuildVisibility makes the visibility tables anew and carries over the stored columns both versions have. All
// other columns are generated from search_attributes, and the text indexes are filled by triggers.
func rebuildVisibility(ctx context.Context, tx *sql.Tx) error {
	old, err := storedColumns(ctx, tx)
	if err != nil {
		return err
	}
	for _, stmt := range []string{
		`CREATE TEMP TABLE old_visibility AS SELECT ` + strings.Join(old, ", ") + ` FROM executions_visibility`,
		`DROP TABLE executions_visibility_fts_text`,
		`DROP TABLE executions_visibility_fts_keyword_list`,
		`DROP TABLE executions_visibility`,
	} {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	if err := execFiles(ctx, tx, visibilitySchema); err != nil {
		return err
	}
	current, err := storedColumns(ctx, tx)
	if err != nil {
		return err
	}
	both := strings.Join(slices.DeleteFunc(old, func(c string) bool { return !slices.Contains(current, c) }), ", ")
	if _, err := tx.ExecContext(ctx, `INSERT INTO executions_visibility (`+both+`) SELECT `+both+` FROM old_visibility`); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `DROP TABLE old_visibility`)
	return err
}

func storedColumns(ctx context.Context, tx *sql.Tx) ([]string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM pragma_table_xinfo('executions_visibility') WHERE hidden = 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, `"`+name+`"`)
	}
	return names, rows.Err()
}

// backupInto replaces backup by a copy of the database, and only when the copy is complete.
func backupInto(ctx context.Context, db *sql.DB, backup string) error {
	unfinished := backup + ".tmp"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an unfinished backup: %w", err)
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, unfinished); err != nil {
		return fmt.Errorf("backing up before the upgrade: %w", err)
	}
	if err := errors.Join(os.Chmod(unfinished, 0o600), os.Rename(unfinished, backup)); err != nil {
		return fmt.Errorf("backing up before the upgrade: %w", err)
	}
	return nil
}

func execFiles(ctx context.Context, tx *sql.Tx, names ...string) error {
	for _, name := range names {
		b, err := fs.ReadFile(schema.Assets(), name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if _, err := tx.ExecContext(ctx, string(b)); err != nil {
			return fmt.Errorf("running %s: %w", name, err)
		}
	}
	return nil
}

func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("starting a transaction: %w", err)
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// compareVersions orders dotted numbers: 0.10 comes after 0.9.
func compareVersions(a, b string) (int, error) {
	parse := func(s string) (parts []int, err error) {
		for p := range strings.SplitSeq(s, ".") {
			n, err := strconv.Atoi(p)
			if err != nil {
				return nil, fmt.Errorf("schema version %q is not dotted numbers", s)
			}
			parts = append(parts, n)
		}
		return parts, nil
	}
	x, errX := parse(a)
	y, errY := parse(b)
	return slices.Compare(x, y), errors.Join(errX, errY)
}
