// This file exists because nobody else cares for the server's SQLite file: it is checked, shrunk and brought to the
// schema of this binary before the server opens it.

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"modernc.org/sqlite" // the driver the server also uses
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	quickCheckLimit = 5 * time.Second // a larger database is opened with the check unfinished rather than late
	vacuumFreeRatio = 0.25            // share of free pages from which rewriting the file pays
	vacuumMinPages  = 1024            // 4 MiB: below this a rewrite gains nothing
)

// pragmas hold for every connection. FULL costs 2 ms per commit and loses nothing at a power failure. auto_vacuum
// only counts before the first table exists.
var pragmas = map[string]string{
	"auto_vacuum": "INCREMENTAL", "busy_timeout": "10000", "journal_mode": "WAL",
	"journal_size_limit": "16777216", "synchronous": "FULL",
}

// sqlConfig is how the server opens the file. Its DSN is a URI, so the path is escaped.
func sqlConfig(st stateDir) *config.SQL {
	attributes := map[string]string{"mode": "rwc"}
	for k, v := range pragmas {
		attributes[k] = v
	}
	return &config.SQL{
		PluginName: sqliteplugin.PluginName, ConnectAttributes: attributes,
		DatabaseName: (&url.URL{Path: st.path("temporal.db")}).EscapedPath(),
	}
}

// openDatabase opens the file directly, for work the server does not do; the caller closes it.
func openDatabase(path string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}}
	for _, k := range []string{"busy_timeout", "auto_vacuum", "journal_mode", "journal_size_limit", "synchronous"} {
		q.Add("_pragma", k+"="+pragmas[k])
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// prepareDatabase leaves a file the server can open, or fails with errRefused when no later start could do better.
func prepareDatabase(ctx context.Context, st stateDir, unclean bool, log *slog.Logger) (err error) {
	db, err := openDatabase(st.path("temporal.db"))
	if err != nil {
		return err
	}
	err = maintain(ctx, db, unclean, log)
	if err == nil {
		err = prepareSchema(ctx, db, st.path("temporal.db"), log)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("preparing the database %s: %w", st.path("temporal.db"), refuseDamage(err))
	}
	if err := ensureNamespace(ctx, sqlConfig(st)); err != nil {
		return fmt.Errorf("preparing namespace %s: %w", namespaceName, err)
	}
	return nil
}

// maintain folds the write-ahead log in, checks the file after an unclean stop and gives free pages back.
func maintain(ctx context.Context, db *sql.DB, unclean bool, log *slog.Logger) error {
	if unclean {
		if err := quickCheck(ctx, db, log); err != nil {
			return err
		}
	}
	var busy, frames, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done); err != nil {
		return fmt.Errorf("folding in the write-ahead log: %w", err)
	}
	pages, err := pragmaInt(ctx, db, "page_count")
	if err != nil {
		return err
	}
	free, err := pragmaInt(ctx, db, "freelist_count")
	if err != nil {
		return err
	}
	if pages < vacuumMinPages || float64(free) <= vacuumFreeRatio*float64(pages) {
		return nil
	}
	log.Info("shrinking the database", "pages", pages, "free", free)
	if _, err := db.ExecContext(ctx, "VACUUM"); err != nil {
		log.Warn("shrinking the database", "error", err) // it needs disk space; the file works without
	}
	return nil
}

// quickCheck looks for damage in the structure of the file, for at most quickCheckLimit.
func quickCheck(ctx context.Context, db *sql.DB, log *slog.Logger) error {
	bounded, cancel := context.WithTimeout(ctx, quickCheckLimit)
	defer cancel()
	var finding string
	err := db.QueryRowContext(bounded, "PRAGMA quick_check(1)").Scan(&finding)
	switch {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil:
		log.Warn("the database is too large to be checked at a start; going on", "limit", quickCheckLimit)
		return nil
	case err != nil:
		return fmt.Errorf("checking the database after an unclean stop: %w", err)
	case finding != "ok":
		return damagedError(strings.TrimSpace(finding))
	}
	return nil
}

func damagedError(finding string) error {
	return fmt.Errorf("%w: the database is damaged (%s); keep it for analysis and put a backup in its place", errRefused, finding)
}

// refuseDamage tells damage that SQLite met on its way from errors that may pass.
func refuseDamage(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && !errors.Is(err, errRefused) {
		switch e.Code() & 0xff { // the rest of the code is detail
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return damagedError(e.Error())
		}
	}
	return err
}

func pragmaInt(ctx context.Context, db *sql.DB, name string) (n int64, err error) {
	if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n); err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	return n, nil
}
