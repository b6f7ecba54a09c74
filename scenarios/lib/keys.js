// Keys of a synthetic key space.

const { exp, log, max, min, round } = Math;

// zipf returns a function that draws a key from 1 to count: key i with a probability
// proportional to 1 / i^exponent. With the exponent 0 all keys are alike. It has no table of
// keys: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
// monotone discrete distributions", 1996.
export function zipf(exponent, count) {
  if (exponent === 0) {
    return (random) => 1 + Math.floor(random() * count);
  }
  // The integral of x^-exponent from 1 to x, and its inverse.
  const integral = (x) => perUnit(Math.expm1, (1 - exponent) * log(x)) * log(x);
  const inverse = (y) => exp(perUnit(Math.log1p, max(-1, (1 - exponent) * y)) * y);
  const density = (x) => exp(-exponent * log(x));
  const from = integral(count + 0.5);
  const to = integral(1.5) - 1;
  const surely = 2 - inverse(integral(2.5) - density(2));
  return (random) => {
    for (;;) {
      const y = from + random() * (to - from);
      const x = inverse(y);
      const key = min(count, max(1, round(x)));
      if (key - x <= surely || y >= integral(key + 0.5) - density(key)) {
        return key;
      }
    }
  };
}

// perUnit is f(x) / x for an f with f(0) = 0 and the derivative 1 there.
function perUnit(f, x) {
  return Math.abs(x) < 1e-8 ? 1 : f(x) / x;
}

// hex is a key as 32 hexadecimal digits.
export function hex(key) {
  return key.toString(16).padStart(32, '0');
}

// uuid is a key as a UUID of version 8, whose digits are free (RFC 9562).
export function uuid(key) {
  const digits = hex(key);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8000-8000-${digits.slice(20)}`;
}
