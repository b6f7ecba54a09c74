// k6Instance and k6State have no body: Go allows that in packages with an assembly file only.
