package ledger_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/ledger"
)

const uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479"

func unhex(t *testing.T, digits string) string {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// One identity has one hash in every form in which a script may have it and a column may hold it.
func TestFormsOfOneIdentityMatch(t *testing.T) {
	bits := unhex(t, strings.ReplaceAll(uuid, "-", ""))
	swapped := bits[6:8] + bits[4:6] + bits[0:4] + bits[8:]
	guid := string([]byte{bits[3], bits[2], bits[1], bits[0], bits[5], bits[4], bits[7], bits[6]}) + bits[8:]
	for name, c := range map[string]struct {
		acknowledged string
		stored       database.Identity
		reading      string
	}{
		"the same text":             {"a-1", database.Identity{Kind: database.Text, Text: "a-1"}, ""},
		"BINARY(16)":                {uuid, database.Identity{Kind: database.Binary, Text: bits}, ""},
		"UUID_TO_BIN(id, 1)":        {uuid, database.Identity{Kind: database.Binary, Text: swapped}, "UUID_TO_BIN(id, 1) writes them"},
		".NET":                      {uuid, database.Identity{Kind: database.Binary, Text: guid}, "the bytes of a .NET Guid"},
		"upper case":                {strings.ToUpper(uuid), database.Identity{Kind: database.Text, Text: uuid}, ""},
		"stored in upper case":      {uuid, database.Identity{Kind: database.Text, Text: strings.ToUpper(uuid)}, ""},
		"without dashes":            {strings.ReplaceAll(uuid, "-", ""), database.Identity{Kind: database.Text, Text: uuid}, ""},
		"braces":                    {"{" + uuid + "}", database.Identity{Kind: database.Text, Text: uuid}, ""},
		"URN":                       {"urn:uuid:" + uuid, database.Identity{Kind: database.Text, Text: uuid}, ""},
		"bytea as text":             {uuid, database.Identity{Kind: database.Text, Text: `\x` + strings.ReplaceAll(uuid, "-", "")}, ""},
		"text in VARBINARY":         {uuid, database.Identity{Kind: database.Binary, Text: uuid}, "text"},
		"text in BINARY(40)":        {uuid, database.Identity{Kind: database.Binary, Text: uuid + "\x00\x00\x00\x00"}, "text"},
		"ULID":                      {"01ARZ3NDEKTSV4RRFFQ69G5FAV", database.Identity{Kind: database.Text, Text: "01arz3ndektsv4rrffq69g5fav"}, ""},
		"ULID in BINARY(16)":        {"01ARZ3NDEKTSV4RRFFQ69G5FAV", database.Identity{Kind: database.Binary, Text: unhex(t, "01563e3ab5d3d6764c61efb99302bd5b")}, ""},
		"ObjectId in BINARY(12)":    {"507F1F77BCF86CD799439011", database.Identity{Kind: database.Binary, Text: unhex(t, "507f1f77bcf86cd799439011")}, ""},
		"BINARY(4), upper case":     {"DEADBEEF", database.Identity{Kind: database.Binary, Text: "\xde\xad\xbe\xef"}, "hexadecimal digits in upper case"},
		"BIGINT":                    {"9007199254740993", database.Identity{Kind: database.Number, Text: "9007199254740993"}, ""},
		"DECIMAL(20,2)":             {"1200", database.Identity{Kind: database.Number, Text: "1200.00"}, "a number without trailing zeros"},
		"leading zeros in a number": {"00000042", database.Identity{Kind: database.Number, Text: "42"}, "8 digits with leading zeros"},
		"8 bytes of a number":       {"258", database.Identity{Kind: database.Binary, Text: "\x00\x00\x00\x00\x00\x00\x01\x02"}, "a number of 8 bytes"},
	} {
		q := ledger.Query{Run: "r", Sample: ledger.Sample{All: []database.Identity{c.stored}}}
		hash := ledger.HashOf("r", c.acknowledged)
		best, err := q.BestReading(func(visit func(ledger.Hash)) error { visit(hash); return nil })
		if err != nil || best.Name != c.reading {
			t.Errorf("%s: read as %q, %v, want %q", name, best.Name, err, c.reading)
		}
		if got := best.Of(c.stored); ledger.HashOf("r", got) != hash {
			t.Errorf("%s: %q is not %q", name, got, c.acknowledged)
		}
	}
}

// What differs is another identity, however similar.
func TestIdentitiesThatDiffer(t *testing.T) {
	for a, b := range map[string]string{
		"007": "7", "abc": "ABC", "a-1": "a-1 ", "é": "e\u0301", "deadbeef": "DEADBEEF", "1.0": "1", "+7": "7",
		"aGVsbG8gd29ybGQh": "AgVsbG8gd29ybGQh", "0x1": "1", "{a}": "a", "1e3": "1000",
	} {
		if ledger.HashOf("r", a) == ledger.HashOf("r", b) {
			t.Errorf("%q and %q are one identity", a, b)
		}
	}
}

// realistic are forms of identities, one of which a system uses.
var realistic = map[string]*rapid.Generator[string]{
	"UUID":       rapid.StringMatching("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
	"upper UUID": rapid.StringMatching("[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}"),
	"hex":        rapid.StringMatching("[0-9a-f]{16,64}"),
	"upper hex":  rapid.StringMatching("[0-9A-F]{2,40}"),
	"ULID":       rapid.StringMatching("[0-7][0-9A-HJKMNP-TV-Z]{25}"),
	"digits":     rapid.StringMatching("[0-9]{1,20}"),
	"base 62":    rapid.StringMatching("[0-9a-zA-Z]{1,22}"),
	"name":       rapid.StringMatching("[a-z]{1,8}-[0-9]{1,4}-[0-9]{1,6}"),
	"base 64": rapid.Custom(func(t *rapid.T) string {
		return base64.RawURLEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 12, 16).Draw(t, "bytes"))
	}),
}

// Two identities of one form stay two, by each reading too.
func TestCanonicalKeepsIdentitiesApart(t *testing.T) {
	for name, of := range realistic {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			a, b := of.Draw(t, "a"), of.Draw(t, "b")
			if a != b && ledger.Canonical(a) == ledger.Canonical(b) {
				t.Fatalf("%q and %q are both %q", a, b, ledger.Canonical(a))
			}
			if once := ledger.Canonical(a); ledger.Canonical(once) != once {
				t.Fatalf("%q becomes %q, and then %q", a, once, ledger.Canonical(once))
			}
			if ledger.Form(a) == "" {
				t.Fatal("no form")
			}
		}))
	}
	t.Run("bytes", rapid.MakeCheck(func(t *rapid.T) {
		r := rapid.SampledFrom(ledger.Readings).Draw(t, "reading")
		n := rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "length")
		of := rapid.Map(rapid.SliceOfN(rapid.ByteRange(1, 255), n, n), func(b []byte) database.Identity {
			return database.Identity{Kind: database.Binary, Text: string(b)}
		})
		a, b := of.Draw(t, "a"), of.Draw(t, "b")
		if a != b && ledger.Canonical(r.Of(a)) == ledger.Canonical(r.Of(b)) {
			t.Fatalf("%x and %x are both %q, read as %q", a.Text, b.Text, r.Of(a), r.Name)
		}
	}))
	t.Run("numbers", rapid.MakeCheck(func(t *rapid.T) {
		r := rapid.SampledFrom(ledger.Readings).Draw(t, "reading")
		of := rapid.Map(rapid.Uint64(), func(n uint64) database.Identity {
			return database.Identity{Kind: database.Number, Text: fmt.Sprint(n)}
		})
		a, b := of.Draw(t, "a"), of.Draw(t, "b")
		if a != b && r.Of(a) == r.Of(b) {
			t.Fatalf("%s and %s are both %q, read as %q", a.Text, b.Text, r.Of(a), r.Name)
		}
	}))
}

// A form says what an identity looks like, and holds nothing of it. What may be one identity has
// one form.
func TestForm(t *testing.T) {
	for id, want := range map[string]string{
		uuid: "16 bytes, as of a UUID", strings.ToUpper(uuid): "16 bytes, as of a UUID", "01ARZ3NDEKTSV4RRFFQ69G5FAV": "16 bytes, as of a UUID",
		"507f1f77bcf86cd799439011": "12 bytes", "42": "2-digit number", "007": "3 digits with leading zeros",
		"9007199254740992": "16-digit number",
		"9007199254740993": "16-digit number over 2^53", "9007199254740994": "16-digit number over 2^53, as a rounded Number",
		"1234567890123456768": "19-digit number over 2^53", "1234567890123456800": "19-digit number over 2^53, as a rounded Number",
		"pay_8-Ab": "8 characters, a-z, A-Z, 0-9, -, _", "-5": "number with a sign or a fraction", strings.Repeat("x", 300): "over 64 characters, a-z",
	} {
		if got := ledger.Form(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
	for want, id := range map[string]database.Identity{
		"16 bytes, as of a UUID": {Kind: database.Binary, Text: strings.Repeat("\x01", 16)}, "2-digit number": {Kind: database.Number, Text: "42.00"},
		"number with a sign or a fraction": {Kind: database.Number, Text: "-4.5"},
	} {
		if got := ledger.FormOf(id); got != want {
			t.Errorf("%+v is %q, want %q", id, got, want)
		}
	}
	forms := ledger.Forms{}
	for i := range 100 {
		forms.Add(fmt.Sprintf("form %d", min(i, 50)))
	}
	if len(forms) > ledger.MaxForms+1 || forms[ledger.OtherForms] != 84 {
		t.Errorf("%d forms, %d others", len(forms), forms[ledger.OtherForms])
	}
}

// Local times that are taken for UTC are recognised by when rows can have been stored, and are
// corrected where they are those of a time zone of the server.
func TestZone(t *testing.T) {
	const start, second, hour = int64(1_800_000_000_000), int64(1000), int64(3_600_000)
	w := ledger.Window{Start: start, Read: start + 130*second, Timeout: 10 * second, Slack: 2 * second}
	// Stored up to 400 ms before and 3 s after the acknowledgement, and dated off ms.
	dates := func(off int64) ledger.Dates {
		return ledger.Dates{FirstAck: start + second, FirstRow: start + 600 + off, LastRow: start + 123*second + off, Lead: 400 - off}
	}
	zones := []time.Duration{0, -5 * time.Hour, 5*time.Hour + 30*time.Minute}
	for name, c := range map[string]struct {
		off     int64
		zones   []time.Duration
		misdate bool
		want    int64
	}{
		"UTC":               {0, zones, false, 0},
		"west":              {-5 * hour, zones, true, -5 * hour},
		"half an hour":      {5*hour + hour/2, zones, true, 5*hour + hour/2},
		"another zone":      {-4 * hour, zones, true, 0},
		"zone unknown":      {-5 * hour, nil, true, 0},
		"a clock behind":    {-20 * second, zones, true, 0},
		"a clock in future": {60 * second, zones, true, 0},
		"zone and clock":    {-5*hour - 60*second, zones, true, 0},
		"seconds rounded":   {-second, zones, false, 0},
		"no whole quarter":  {-5*hour - 7*60*second, []time.Duration{-5*time.Hour - 7*time.Minute}, true, 0},
	} {
		d := dates(c.off)
		if off := w.Off(d); (off != 0) != c.misdate || off != 0 && (off < 0) != (c.off < 0) {
			t.Errorf("%s: off by %d ms", name, off)
		}
		if got, certain := w.Zone(d, c.zones); got != c.want || certain != (c.want != 0) {
			t.Errorf("%s: shifted by %d ms, %t, want %d", name, got, certain, c.want)
		}
	}
	// In spring one hour of the rows is of another offset.
	d := dates(-5 * hour)
	d.LastRow += hour
	if ms, certain := w.Zone(d, zones); certain {
		t.Errorf("two offsets are corrected by %d ms", ms)
	}
	// Without a record of when rows were read, those in the future are as late as they say.
	if w.Read = 0; w.Off(dates(5*hour)) != 0 || w.Off(dates(-5*hour)) == 0 {
		t.Error("rows are only too early where it is not known when they were read")
	}
}
