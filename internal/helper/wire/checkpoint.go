// This file names the operations of checkpoints.
//
// A picture is pulled: after OpScan the worker calls OpScanNext until it is done. Each answer holds one event, and each
// call answers the event before: whether a checkpoint is known, which of the offered objects are wanted (they come with
// the next answer), and of which checkpoint the picture became. Little is held at either end, however large the tree.

package wire

// The operations of checkpoints. Where an operation has a body, its line says so.
const (
	OpScan         = "scan"
	OpScanNext     = "scanNext" // reply body: the wanted objects, one after the other, then the offers or the notes
	OpScanEnd      = "scanEnd"
	OpChange       = "change"       // body: the steps
	OpChangePut    = "changePut"    // body: the pieces, one after the other
	OpChangeCommit = "changeCommit" // reply body: Outcome
	OpChangeAbort  = "changeAbort"
)

// Bounds of what a scan sends at a time.
const (
	MaxOffers  = 2000    // objects
	OfferBytes = 1 << 20 // of objects held until the worker has decided; a larger object is offered alone
	OfferSize  = 32 + 4  // bytes of an offer: the hash and the size of an object
	MaxPieces  = 1000    // in one OpChangePut
)

// ScanArgs begin a picture.
type ScanArgs struct {
	ID       string `json:"id"`
	Excludes []Text `json:"excludes,omitempty"`
	Files    int    `json:"files,omitempty"` // limits; 0: the defaults
	Bytes    int64  `json:"bytes,omitempty"`
	File     int64  `json:"file,omitempty"`
	Rehash   bool   `json:"rehash,omitempty"`
}

// ScanNextArgs ask for event N, counting from 1, and answer event N-1. Repeating N repeats the answer.
type ScanNextArgs struct {
	ID         string `json:"id"`
	N          int    `json:"n"`
	Known      bool   `json:"known,omitempty"`      // the checkpoint of Base is known
	Want       []byte `json:"want,omitempty"`       // bit i%8 of byte i/8: offer i is wanted
	Checkpoint string `json:"checkpoint,omitempty"` // what the picture became
}

// ScanEvent is one of: a question (Base), objects on offer, a picture that is complete, the end.
type ScanEvent struct {
	Base    string   `json:"base,omitempty"` // is this checkpoint known?
	Offers  int      `json:"offers,omitempty"`
	Picture *Picture `json:"picture,omitempty"`
	Done    bool     `json:"done,omitempty"`
	Looked  int64    `json:"looked,omitempty"` // progress: files looked at, read, and bytes read
	Hashed  int64    `json:"hashed,omitempty"`
	Read    int64    `json:"read,omitempty"`
}

// Picture describes a picture; its notes are in the body.
type Picture struct {
	Root  string `json:"root"`
	Files int    `json:"files"`
	Dirs  int    `json:"dirs"`
	Links int    `json:"links"`
	Bytes int64  `json:"bytes"`
}

// ChangePutArgs give content of a change.
type ChangePutArgs struct {
	ID     string  `json:"id"`
	Pieces []Piece `json:"pieces"`
}

// Piece is a part of the content of a step; its bytes are Size bytes of the body.
type Piece struct {
	Step   int   `json:"step"`
	Offset int64 `json:"offset,omitempty"`
	Size   int   `json:"size,omitempty"`
	Last   bool  `json:"last,omitempty"`
}

// Begun is the answer to OpChange.
type Begun struct {
	Made      bool `json:"made,omitempty"` // before: the outcome is in the body
	FoldsCase bool `json:"foldsCase,omitempty"`
	FoldsForm bool `json:"foldsForm,omitempty"`
}

// Outcome tells what a change left as it was.
type Outcome struct {
	Kept []Kept `json:"kept,omitempty"`
}

// Kept is a path that was left as it was.
type Kept struct {
	Path     Text   `json:"path"`
	Reason   string `json:"reason"`
	Conflict bool   `json:"conflict,omitempty"`
}
