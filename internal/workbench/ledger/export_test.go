package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"

	"modernc.org/sqlite"

	"scv/internal/home"
)

// A Listener opens connections to a ledger and keeps what is asked over them, in the words of who asks.
type Listener struct {
	dsn string

	mu    sync.Mutex
	asked []Asked
}

// Asked is one query with its values.
type Asked struct {
	Query string
	Args  []any
}

// Listened is a store that reads a home's ledger by db, which the caller closes, and who hears what it asks.
func Listened(h *home.Home) (s *Store, db *sql.DB, by *Listener) {
	by = &Listener{dsn: readerDSN(h.LedgerPath())}
	db = sql.OpenDB(by)
	return &Store{home: h, path: h.LedgerPath(), db: db, read: db}, db, by
}

// Asked returns what was asked so far.
func (l *Listener) Asked() []Asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Asked(nil), l.asked...)
}

// Connect is that of a driver.Connector.
func (l *Listener) Connect(context.Context) (driver.Conn, error) {
	c, err := l.Driver().Open(l.dsn)
	return listened{c, l}, err
}

// Driver is the ledger's own.
func (l *Listener) Driver() driver.Driver { return &sqlite.Driver{} }

type listened struct {
	driver.Conn
	by *Listener
}

// QueryContext passes on a query and keeps it.
func (c listened) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	asked := Asked{Query: query}
	for _, a := range args {
		asked.Args = append(asked.Args, a.Value)
	}
	c.by.mu.Lock()
	c.by.asked = append(c.by.asked, asked)
	c.by.mu.Unlock()
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}
