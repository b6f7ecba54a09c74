package certificate_test

import (
	"fmt"
	"os"

	"assay.dev/assay/certificate"
)

// A program reads a certificate, checks who has signed it, and prints the verdict.
func Example() {
	const run = "../internal/judge/audit/testdata/releases/0.1.0"
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		return data
	}
	c, err := certificate.Verify(read(run+"/certificate.json"), read(run+"/certificate.sigstore.json"), read(run+".pub"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s at %s\n", c.Verdict, c.Profile, c.Rate)
	for _, s := range c.SLOs {
		fmt.Println(s.Verdict, s.Name())
	}
	// Output:
	// PASS: payment at 20 tps
	// PASS http_req_duration{name:pay} p(95)<400
	// PASS http_req_failed rate<0.02
	// PASS ledger missing==0
	// PASS ledger duplicated==0
	// PASS payment_confirmed rate>0.95
	// PASS persist_lag max<5000
	// PASS transaction_duration p(95)<500
	// PASS throughput completed/scheduled>=0.99
}
