package report

import "assay/harness/lab/experiment"

// Page is one file of a result.
type Page struct {
	Name string
	Data []byte
}

// Pages are the files of a result: experiment.json, .md and .html.
func Pages(d experiment.Document) ([]Page, error) {
	data, err := d.Marshal()
	if err != nil {
		return nil, err
	}
	html, err := HTML(d)
	if err != nil {
		return nil, err
	}
	return []Page{{"experiment.json", data}, {"experiment.md", Markdown(d)}, {"experiment.html", html}}, nil
}
