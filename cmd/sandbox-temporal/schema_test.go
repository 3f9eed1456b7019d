// These tests exist because an upgrade that goes wrong loses every session of a user.

package main

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

var quiet = slog.New(slog.DiscardHandler)

func testDatabase(t *testing.T) (*sql.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b?c%20#", "temporal.db") // what a URI could misread
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	db, err := openDatabase(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db, path
}

// describe lists every table, index and trigger with its columns, to compare two schemas.
func describe(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	rows, err := db.Query(`SELECT m.type || ' ' || m.name, coalesce(c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.hidden, '')
		FROM sqlite_master m LEFT JOIN pragma_table_xinfo(m.name) c WHERE m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2`)
	require.NoError(t, err)
	defer rows.Close()
	out := map[string][]string{}
	for rows.Next() {
		var object, column string
		require.NoError(t, rows.Scan(&object, &column))
		out[object] = append(out[object], column)
	}
	require.NoError(t, rows.Err())
	return out
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := db.Exec(query, args...)
	require.NoError(t, err)
}

func TestFreshSchema(t *testing.T) {
	db, path := testDatabase(t)
	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))
	got, fresh, err := readStamp(t.Context(), db)
	require.NoError(t, err)
	require.False(t, fresh)
	want, err := currentStamp()
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.FileExists(t, path)
	vacuum, err := pragmaInt(t.Context(), db, "auto_vacuum")
	require.NoError(t, err)
	require.EqualValues(t, 2, vacuum, "auto_vacuum must be INCREMENTAL from the first page on")
	var mode string
	require.NoError(t, db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	require.Equal(t, "wal", mode)
}

func TestSameSchemaIsLeftAlone(t *testing.T) {
	db, path := testDatabase(t)
	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))
	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))
	backups, err := filepath.Glob(path + ".backup-*")
	require.NoError(t, err)
	require.Empty(t, backups)
}

// TestOlderSchemaIsUpgraded makes the database of version 0.9 by taking away what 0.10 and 0.11 added, with a
// visibility table that lacks a generated column and has one stored column the present does not know.
func TestOlderSchemaIsUpgraded(t *testing.T) {
	db, path := testDatabase(t)
	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))
	want := describe(t, db)
	for _, table := range []string{"tasks_v2", "task_queues_v2", "current_chasm_executions"} {
		exec(t, db, `DROP TABLE `+table)
	}
	exec(t, db, `DROP INDEX by_keyword_10`)
	exec(t, db, `ALTER TABLE executions_visibility DROP COLUMN Keyword10`)
	exec(t, db, `ALTER TABLE executions_visibility ADD COLUMN forgotten TEXT`)
	exec(t, db, `UPDATE agent_meta SET schema = '0.9', visibility = 'older'`)
	exec(t, db, `INSERT INTO shards VALUES (1, 7, x'01', 'proto3')`)
	exec(t, db, `INSERT INTO executions_visibility (namespace_id, run_id, start_time, execution_time, workflow_id,
		workflow_type_name, status, encoding, search_attributes) VALUES ('n', 'r', '2026-01-01', '2026-01-01', 'w', 't', 1, 'proto3',
		'{"Keyword01": "kept", "Keyword10": "found", "Text01": "some words"}')`)

	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))

	require.Equal(t, want, describe(t, db))
	var k1, k10 string
	require.NoError(t, db.QueryRow(`SELECT Keyword01, Keyword10 FROM executions_visibility WHERE workflow_id = 'w'`).Scan(&k1, &k10))
	require.Equal(t, []string{"kept", "found"}, []string{k1, k10})
	var hits, shards int
	require.NoError(t, db.QueryRow(`SELECT count(*) FROM executions_visibility_fts_text WHERE Text01 MATCH 'words'`).Scan(&hits))
	require.NoError(t, db.QueryRow(`SELECT count(*) FROM shards`).Scan(&shards))
	require.Equal(t, []int{1, 1}, []int{hits, shards})

	info, err := os.Stat(path + ".backup-0.9")
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	backup, err := openDatabase(path + ".backup-0.9")
	require.NoError(t, err)
	defer backup.Close()
	old, _, err := readStamp(t.Context(), backup)
	require.NoError(t, err)
	require.Equal(t, stamp{"0.9", "older"}, old)
}

func TestFailedUpgradeChangesNothing(t *testing.T) {
	db, path := testDatabase(t)
	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))
	exec(t, db, `UPDATE agent_meta SET schema = '0.9'`) // 0.10 will find its tables already there
	before := describe(t, db)
	require.Error(t, prepareSchema(t.Context(), db, path, quiet))
	require.Equal(t, before, describe(t, db))
	have, _, err := readStamp(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, "0.9", have.schema)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	db, path := testDatabase(t)
	require.NoError(t, prepareSchema(t.Context(), db, path, quiet))
	exec(t, db, `UPDATE agent_meta SET schema = '0.999'`)
	err := prepareSchema(t.Context(), db, path, quiet)
	require.ErrorIs(t, err, errRefused)
	require.ErrorContains(t, err, "0.999")
	require.ErrorContains(t, err, sqliteschema.Version)
}

func TestForeignDatabaseIsRefused(t *testing.T) {
	db, path := testDatabase(t)
	exec(t, db, `CREATE TABLE somebody_elses (x)`)
	require.ErrorIs(t, prepareSchema(t.Context(), db, path, quiet), errRefused)
}

func TestEveryUpdateIsReachable(t *testing.T) {
	files, err := updatesBetween("0.1", sqliteschema.Version)
	require.NoError(t, err)
	require.Equal(t, "sqlite/v3/temporal/versioned/v0.2/task_queue_user_data.sql", files[0])
	require.Contains(t, files[len(files)-1], "/v"+sqliteschema.Version+"/")
	none, err := updatesBetween(sqliteschema.Version, sqliteschema.Version)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestMaintainShrinksAndChecks(t *testing.T) {
	db, _ := testDatabase(t)
	exec(t, db, `CREATE TABLE big (b BLOB)`)
	exec(t, db, `INSERT INTO big SELECT randomblob(8192) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) SELECT i FROM n)`)
	exec(t, db, `DELETE FROM big`)
	require.NoError(t, maintain(t.Context(), db, true, quiet))
	pages, err := pragmaInt(t.Context(), db, "page_count")
	require.NoError(t, err)
	require.Less(t, pages, int64(100))
}

func TestDamageIsRefused(t *testing.T) {
	db, path := testDatabase(t)
	exec(t, db, `CREATE TABLE x (b BLOB)`)
	exec(t, db, `INSERT INTO x VALUES (randomblob(200000))`)
	require.NoError(t, maintain(context.Background(), db, false, quiet))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	junk := make([]byte, 64<<10)
	for i := range junk {
		junk[i] = 0xa5
	}
	_, err = f.WriteAt(junk, 4096)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	damaged, err := openDatabase(path)
	require.NoError(t, err)
	defer damaged.Close()
	require.ErrorIs(t, refuseDamage(maintain(t.Context(), damaged, true, quiet)), errRefused)
}
