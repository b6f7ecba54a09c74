package pitest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// The JSON of the response, as in the API reference.
type (
	answer struct {
		AlignedStartTime, AlignedEndTime float64
		Identifier                       string
		MetricList                       []list
		NextToken                        string `json:",omitempty"`
	}
	list struct {
		Key        key
		DataPoints []point
	}
	key struct {
		Metric     string
		Dimensions map[string]string `json:",omitempty"`
	}
	point struct {
		Timestamp float64
		Value     float64
	}
)

// answer returns the total load first, then the members of the group with the most load.
func (s *Server) answer(q Request) answer {
	a := answer{AlignedStartTime: q.StartTime, AlignedEndTime: q.EndTime, Identifier: q.Identifier}
	whole := list{Key: key{Metric: "db.load.avg"}, DataPoints: []point{}}
	members := map[string]map[int64]float64{}
	group := q.MetricQueries[0].GroupBy
	for second := int64(q.StartTime); second < int64(q.EndTime); second++ {
		if s.now().Before(time.Unix(second+1, 0).Add(s.Late)) || s.Lost(second) {
			continue
		}
		sum := 0.0
		for _, session := range s.Load(second) {
			sum += session.Sessions
			if group == nil {
				continue
			}
			name := session.Event
			if group.Group == "db.sql_tokenized" {
				name = session.Statement
			}
			if members[name] == nil {
				members[name] = map[int64]float64{}
			}
			members[name][second] += session.Sessions
		}
		whole.DataPoints = append(whole.DataPoints, point{q.label(second), sum})
	}
	lists := []list{whole}
	most := 0
	if group != nil {
		most = group.Limit
	}
	for _, name := range largest(members, most) {
		l := list{Key: key{"db.load.avg", dimensions(group.Group, name)}}
		for _, second := range slices.Sorted(maps.Keys(members[name])) {
			l.DataPoints = append(l.DataPoints, point{q.label(second), members[name][second]})
		}
		lists = append(lists, l)
	}
	a.MetricList, a.NextToken = s.page(lists, q.NextToken)
	return a
}

// label returns the timestamp of a second: its end, unless the request asks for its start.
func (q Request) label(second int64) float64 {
	if q.PeriodAlignment == "START_TIME" {
		return float64(second)
	}
	return float64(second + 1)
}

// largest returns the members of a group that the API returns, sorted by load.
func largest(members map[string]map[int64]float64, most int) []string {
	sum := func(name string) (total float64) {
		for _, v := range members[name] {
			total += v
		}
		return total
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int { return cmp.Or(cmp.Compare(sum(b), sum(a)), cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}

func dimensions(group, name string) map[string]string {
	if group == "db.sql_tokenized" {
		return map[string]string{
			"db.sql_tokenized.id":        fmt.Sprintf("%X", sha256.Sum256([]byte("id "+name)))[:40],
			"db.sql_tokenized.db_id":     fmt.Sprintf("%x", sha256.Sum256([]byte(name))),
			"db.sql_tokenized.statement": name,
		}
	}
	kind := "io"
	if name == "CPU" {
		kind = name
	}
	return map[string]string{"db.wait_event.name": name, "db.wait_event.type": kind}
}

// page returns one page of the lists, and the token of the next one; empty: it is the last.
func (s *Server) page(lists []list, token string) ([]list, string) {
	from, _ := strconv.Atoi(token)
	if s.PageSize == 0 || from+s.PageSize >= len(lists) {
		return lists[min(from, len(lists)):], ""
	}
	return lists[from : from+s.PageSize], strconv.Itoa(from + s.PageSize)
}
