// Repeatable random choices: Math.random cannot be seeded.

const { imul } = Math;

// The hash of all keys begins with that of the seed.
const seeded = add(0x811c9dc5, `${__ENV.ASSAY_SEED || '0'}/`);

// seededRandom returns a function that draws uniformly from [0, 1). Its sequence
// depends only on ASSAY_SEED and key.
export function seededRandom(key) {
  let state = mix(add(seeded, key));
  // mulberry32: 32 bits of state, enough for the few draws of an iteration.
  return function random() {
    state = (state + 0x6d2b79f5) | 0;
    let t = imul(state ^ (state >>> 15), 1 | state);
    t = (t + imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  };
}

// integer draws an integer from low to high, both included.
export function integer(random, low, high) {
  return low + Math.floor(random() * (high - low + 1));
}

// Keys, values and their sum, by object: reading an object's properties takes longer than
// the draw itself.
const known = new WeakMap();

// weighted draws a key of weights, with a probability proportional to its weight.
// weights must not change.
export function weighted(random, weights) {
  let w = known.get(weights);
  if (!w) {
    const values = Object.values(weights);
    w = { names: Object.keys(weights), values: values, sum: values.reduce((sum, value) => sum + value, 0) };
    known.set(weights, w);
  }
  const { names, values } = w;
  let left = random() * w.sum;
  for (let i = 0; i < values.length; i++) {
    left -= values[i];
    if (left < 0) {
      return names[i];
    }
  }
  return names[names.length - 1]; // left was rounded up
}

// add continues a hash (FNV-1a) with a text.
function add(hash, text) {
  let h = hash;
  for (let i = 0; i < text.length; i++) {
    h = imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  return h;
}

// mix ends a hash, so that sequences of keys that differ only in their last character do
// not start with similar numbers.
function mix(hash) {
  let h = imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
