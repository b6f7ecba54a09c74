package mysql

// LinkID tells a collector's sessions from all others.
func LinkID(c *Collector) string { return c.link.id }

// Die leaves a collector as kill -9 does.
func Die(c *Collector) {
	c.link.drop()
	_ = c.journal.file.Close()
}
