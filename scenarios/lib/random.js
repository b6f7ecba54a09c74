// Repeatable random choices: Math.random cannot be seeded.

const seed = __ENV.ASSAY_SEED || '0';

// seededRandom returns a function that draws uniformly from [0, 1). Its sequence
// depends only on ASSAY_SEED and key.
export function seededRandom(key) {
  let state = hash(`${seed}/${key}`);
  // mulberry32: 32 bits of state, enough for the few draws of an iteration.
  return function random() {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  };
}

// integer draws an integer from low to high, both included.
export function integer(random, low, high) {
  return low + Math.floor(random() * (high - low + 1));
}

// weighted draws a key of weights, with a probability proportional to its weight.
export function weighted(random, weights) {
  const names = Object.keys(weights);
  let left = random() * names.reduce((sum, name) => sum + weights[name], 0);
  for (const name of names) {
    left -= weights[name];
    if (left < 0) {
      return name;
    }
  }
  return names[names.length - 1]; // left was rounded up
}

// hash is FNV-1a with a final mix, so that sequences of keys that differ only in
// their last character do not start with similar numbers.
function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
