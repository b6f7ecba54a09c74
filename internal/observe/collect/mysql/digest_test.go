package mysql

import (
	"strings"
	"testing"
)

func TestNormalise(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"update t set n=n+1 where id=7", "updatetsetn=n+?whereid=?"},
		{"UPDATE `t` SET `n` = `n` + ? WHERE ID = ? ", "updatetsetn=n+?whereid=?"},
		{"insert into d values (1,'x',1.5)", "insertintodvalues(?)"},
		{`insert into d values (2,"y",-1),(3,'z',NULL)`, "insertintodvalues(?)"},
		{"INSERT INTO `d` VALUES ( ? , NOW ( ) , ? ) , (...) ", "insertintodvalues(?,now(),?),(?)"},
		{"select a -1, -1 from d where a > - 5 and c=+.5", "selecta-?,?fromdwherea>?andc=?"},
		{"insert into d values (2,'y',1),(3,'z',NULL) , (4, null,0x1F)", "insertintodvalues(?)"},
		{"INSERT INTO `d` VALUES (...) /* , ... */ ", "insertintodvalues(?)"},
		{"insert into d values (1,2),(3,'cut of", "insertintodvalues(?)"},
		{"insert into d values (1,2),(", "insertintodvalues(?)"},
		{"insert into d values (1,2),", "insertintodvalues(?)"},
		{"insert into d (a,b) values (5,'it''s, \\' (1)')", "insertintod(a,b)values(?)"},
		{"select * from d where a in (1,2,3) -- why\n and b='q' # end", "select*fromdwhereain(?)andb=?"},
		{"SELECT * FROM `d` WHERE `a` IN (...) AND `b` = ? ", "select*fromdwhereain(?)andb=?"},
		{"select /* '( */ c from d1 where c > .5 and c < 1e-5 limit 10", "selectcfromd1wherec>?andc<?limit?"},
		{"select count(*), f(a, 1) from `a``b`;", "selectcount(*),f(a,?)froma``b"},
		{"select NOW()", "selectnow()"},
		{"select 'open", "select?"},
		{"set @x1 = @@autocommit", "set@?=@@?"},
		{"", ""},
	} {
		if got := string(normalise(c.text)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"insert into t values (1,'a'),(2", "select `a`, \"", "/*", "x in (...)", "0x1e+5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// No token gets longer, except at the end of a truncated list.
		if got := normalise(text); len(got) > len(text)+len("?)") {
			t.Errorf("%q grew to %q", text, got)
		}
	})
}

func BenchmarkTextDigest(b *testing.B) {
	text := "insert into events (run_id, id, name, value) values " + strings.Repeat("('run','0123456789abcdef','temperature',12.5),", 25)
	text = text[:1024]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		textDigest(text)
	}
}
