package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// provisioned is what Grafana would have read.
type provisioned struct {
	datasources []datasource
	dashboards  []dashboard
}

// datasource has the keys of Grafana's provisioning that this project uses. Other keys
// are errors here; Grafana ignores unknown ones.
type datasource struct {
	Name, UID, Type, Access, URL, User, Database string
	IsDefault                                    bool                      `yaml:"isDefault"`
	JSONData                                     map[string]any            `yaml:"jsonData"`
	SecureJSONData                               struct{ Password string } `yaml:"secureJsonData"`
}

type provider struct {
	Name, Folder, Type    string
	AllowUIUpdates        bool `yaml:"allowUiUpdates"`
	UpdateIntervalSeconds int  `yaml:"updateIntervalSeconds"`
	Options               struct{ Path string }
}

type dashboard struct {
	UID    string            `json:"uid"`
	Title  string            `json:"title"`
	Panels []json.RawMessage `json:"panels"`
}

// load reads the provisioning folder and the files that it names. lookup is the
// environment.
func load(dir string, lookup func(string) (string, bool)) (provisioned, error) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []datasource
	}
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []provider
	}
	if err := decode(filepath.Join(dir, "datasources"), lookup, &sources); err != nil {
		return provisioned{}, err
	}
	if err := decode(filepath.Join(dir, "dashboards"), lookup, &boards); err != nil {
		return provisioned{}, err
	}
	p := provisioned{datasources: sources.Datasources}
	for _, d := range p.datasources {
		if d.Name == "" || d.UID == "" || d.Type == "" || d.URL == "" {
			return p, fmt.Errorf("%s: a datasource has no name, uid, type or url", dir)
		}
	}
	for _, from := range boards.Providers {
		if from.Type != "file" {
			return p, fmt.Errorf("provider %q has type %q, not file", from.Name, from.Type)
		}
		found, err := readDashboards(from.Options.Path)
		if err != nil {
			return p, fmt.Errorf("provider %q: %w", from.Name, err)
		}
		p.dashboards = append(p.dashboards, found...)
	}
	if len(p.datasources) == 0 || len(p.dashboards) == 0 {
		return p, fmt.Errorf("%s has %d datasources and %d dashboards", dir, len(p.datasources), len(p.dashboards))
	}
	return p, nil
}

// decode reads the only file of dir.
func decode(dir string, lookup func(string) (string, bool), into any) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.y*ml"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%s has %d YAML files, want 1", dir, len(files))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var unset []error
	text := os.Expand(string(data), func(name string) string {
		value, ok := lookup(name)
		if !ok {
			unset = append(unset, fmt.Errorf("%s: $%s is not set", files[0], name))
		}
		return value
	})
	decoder := yaml.NewDecoder(bytes.NewBufferString(text))
	decoder.KnownFields(true)
	if err := errors.Join(unset...); err != nil {
		return err
	}
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	return nil
}

func readDashboards(dir string) (found []dashboard, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if d.UID == "" || d.Title == "" || len(d.Panels) == 0 {
			return fmt.Errorf("%s has no uid, title or panels", path)
		}
		found = append(found, d)
		return nil
	})
	return found, err
}
