package server

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.yaml.in/yaml/v3"
)

// dashboard is what the test looks at of contrib/grafana.json.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// ruleFile is contrib/alerts.yml.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// series maps the name of each metric that the server exports to its labels.
func series(t *testing.T) map[string][]string {
	t.Helper()
	s := openServer(t, Options{})
	s.stats.failed("ERR anything") // so that there is a word to be a label
	registry := prometheus.NewRegistry()
	registry.MustRegister(&metrics{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"job", "instance"} // Prometheus adds these
	known := map[string][]string{"up": own}
	for _, f := range families {
		labels := slices.Clone(own)
		for _, l := range f.Metric[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if f.Metric[0].Histogram == nil {
			known[f.GetName()] = labels
			continue
		}
		known[f.GetName()+"_bucket"] = append(slices.Clone(labels), "le")
		known[f.GetName()+"_sum"], known[f.GetName()+"_count"] = labels, labels
	}
	return known
}

var (
	promText     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	promRange    = regexp.MustCompile(`\[[^]]*\]`)
	promGrouping = regexp.MustCompile(`\b(?:by|without|on)\s*\(([^)]*)\)`)
	promName     = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\}|\()?`)
	promLabel    = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)`)
	promWord     = regexp.MustCompile(`^(and|or|unless|offset|bool|ignoring|group_left|group_right)$`)
)

// unknownNames are the metrics and labels of a query that the server does not export.
func unknownNames(query string, known map[string][]string) (unknown []string) {
	query = promRange.ReplaceAllString(promText.ReplaceAllString(query, `""`), "")
	var used []string
	for _, g := range promGrouping.FindAllStringSubmatch(query, -1) {
		for _, label := range strings.Split(g[1], ",") {
			used = append(used, strings.TrimSpace(label))
		}
	}
	var labels []string
	for _, m := range promName.FindAllStringSubmatch(promGrouping.ReplaceAllString(query, ""), -1) {
		if m[2] == "(" || promWord.MatchString(m[1]) {
			continue
		}
		its, ok := known[m[1]]
		if !ok {
			unknown = append(unknown, m[1])
		}
		labels = append(labels, its...)
		for _, l := range promLabel.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(its, l[1]) {
				unknown = append(unknown, m[1]+"{"+l[1]+"}")
			}
		}
	}
	for _, label := range used {
		if !slices.Contains(labels, label) {
			unknown = append(unknown, "by ("+label+")")
		}
	}
	return unknown
}

func TestUnknownNames(t *testing.T) {
	known := map[string][]string{"curt_a_total": {"kind"}, "curt_b": nil, "curt_h_bucket": {"le"}}
	f := func(query string, want ...string) {
		t.Helper()
		if got := unknownNames(query, known); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	f(`curt_b > 0.01`)
	f(`sum by (kind) (rate(curt_a_total{kind=~"x|y"}[5m])) / 2 and curt_b`)
	f(`histogram_quantile(0.99, sum by (le) (rate(curt_h_bucket[5m])))`)
	f(`sum(rate(curt_c_total[5m]))`, "curt_c_total")
	f(`curt_a_total{word="ERR"}`, "curt_a_total{word}")
	f(`sum by (word) (curt_a_total)`, "by (word)")
}

// Dashboard and alert rules name only what is exported, and Grafana's variables.
func TestContribNamesMetrics(t *testing.T) {
	known := series(t)
	check := func(where, query string) {
		t.Helper()
		if query == "" {
			t.Errorf("%s: no query", where)
		}
		for _, name := range unknownNames(query, known) {
			t.Errorf("%s: %s is not exported by server/metrics.go: %s", where, name, query)
		}
	}
	text, err := os.ReadFile("../contrib/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			check("panel "+p.Title, target.Expr)
		}
	}
	if text, err = os.ReadFile("../contrib/alerts.yml"); err != nil {
		t.Fatal(err)
	}
	var rules ruleFile
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			n++
			check("alert "+r.Alert, r.Expr)
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("alert %s: no severity or no summary", r.Alert)
			}
		}
	}
	if len(d.Panels) == 0 || n == 0 {
		t.Errorf("%d panels, %d rules", len(d.Panels), n)
	}
}
