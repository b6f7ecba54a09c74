package record

// Flush writes everything appended so far to the files.
func (w *Writer) Flush() error { return w.frames.flush() }
