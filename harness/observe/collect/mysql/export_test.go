package mysql

// LinkID tells a collector's sessions from all others.
func LinkID(c *Collector) string { return c.link.id }
