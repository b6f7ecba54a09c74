// Choices that can be repeated: the same seed and key give the same choices,
// which Math.random cannot promise.

const seed = __ENV.ASSAY_SEED || '0';

// generator returns a function that draws numbers evenly from [0, 1). Its
// sequence depends on ASSAY_SEED and on key alone.
export function generator(key) {
  let state = hash(`${seed}/${key}`);
  // mulberry32: 32 bits of state, enough for the few draws of an iteration.
  return function draw() {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  };
}

// integer draws a whole number from low to high, both included.
export function integer(draw, low, high) {
  return low + Math.floor(draw() * (high - low + 1));
}

// weighted draws one of the keys of weights, each as often as its weight says.
export function weighted(draw, weights) {
  const names = Object.keys(weights);
  let left = draw() * names.reduce((sum, name) => sum + weights[name], 0);
  for (const name of names) {
    left -= weights[name];
    if (left < 0) {
      return name;
    }
  }
  return names[names.length - 1]; // rounding left a rest
}

// hash is FNV-1a with a final mix, so that keys that differ in their last
// character alone do not start alike.
function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
