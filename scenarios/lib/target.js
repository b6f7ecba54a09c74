// The system under test.

if (!__ENV.ASSAY_TARGET) {
  throw new Error('ASSAY_TARGET is not set: give the base URL, as in ASSAY_TARGET=http://127.0.0.1:18080');
}

const base = __ENV.ASSAY_TARGET.replace(/\/+$/, '');

// url appends a path, which begins with '/', to the target's base URL.
export function url(path) {
  return base + path;
}
