// This file exists so that the namespace and its search attributes are there before the first client connects, in a
// new database as in one made by an older version.

package main

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	namespaceName = "agent"
	clusterName   = "active"
	retention     = 72 * time.Hour // how long closed runs stay readable
)

// searchAttributes are the attributes sessions are listed by. All are Keywords: equality and STARTS_WITH use an
// index, while SQLite's Text is a word index that knows neither. Keywords are meant to stay under 255 bytes, so
// titles are cut and folders are hashed by whoever sets them. SQLite has ten Keyword columns; the position in this
// list is no promise, the name is.
var searchAttributes = []string{
	"SandboxTitle", "SandboxBackend", "SandboxFolder", "SandboxState", "SandboxOwner", "SandboxParent", "SandboxHost",
}

const keywordColumns = 10

// ensureNamespace creates the namespace when missing and adds search attributes it lacks. It must run before the
// server starts, which caches namespaces.
func ensureNamespace(ctx context.Context, cfg *config.SQL) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, namespaceName, false, nil)
	if err != nil {
		return err
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	if err := sqliteschema.CreateNamespaces(cfg, ns); err != nil {
		return err
	}
	db, err := persistencesql.NewSQLDB(sqlplugin.DbKindUnknown, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // gives a pooled connection back
	name := namespaceName
	rows, err := db.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &name})
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return fmt.Errorf("found %d namespaces of that name", len(rows))
	}
	serializer := serialization.NewSerializer()
	detail, err := serializer.NamespaceDetailFromBlob(persistence.NewDataBlob(rows[0].Data, rows[0].DataEncoding))
	if err != nil {
		return fmt.Errorf("decoding it: %w", err)
	}
	aliases, changed, err := addAliases(detail.Config.CustomSearchAttributeAliases, searchAttributes)
	if err != nil || !changed {
		return err
	}
	detail.Config.CustomSearchAttributeAliases = aliases
	blob, err := serializer.NamespaceDetailToBlob(detail)
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	rows[0].Data, rows[0].DataEncoding = blob.Data, blob.EncodingType.String()
	if _, err := db.UpdateNamespace(ctx, &rows[0]); err != nil {
		return fmt.Errorf("adding search attributes: %w", err)
	}
	return nil
}

// addAliases gives each missing name the first free Keyword column and leaves the others where they are.
func addAliases(have map[string]string, names []string) (aliases map[string]string, changed bool, err error) {
	aliases = make(map[string]string, len(have)+len(names))
	taken := make(map[string]bool, len(have))
	for column, name := range have {
		aliases[column], taken[name] = name, true
	}
	for _, name := range names {
		if taken[name] {
			continue
		}
		column := freeColumn(aliases)
		if column == "" {
			return nil, false, fmt.Errorf("no Keyword column is left for search attribute %s", name)
		}
		aliases[column], changed = name, true
	}
	return aliases, changed, nil
}

func freeColumn(aliases map[string]string) string {
	for i := 1; i <= keywordColumns; i++ {
		column := fmt.Sprintf("%s%02d", enumspb.INDEXED_VALUE_TYPE_KEYWORD, i)
		if _, used := aliases[column]; !used {
			return column
		}
	}
	return ""
}
