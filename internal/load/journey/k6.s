// k6Instance of sleep.go has no body: Go allows that in packages with an assembly file only.
