// The function, computed from its components: the same numbers as `predict`, up to the rounding of a sum.

function bytes(text) {
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) out[i] = binary.charCodeAt(i);
  return out;
}

const doubles = (text) => new Float64Array(bytes(text).buffer);

// A sum that loses nothing but its last rounding (Neumaier).
class Sum {
  constructor() {
    this.sum = 0;
    this.rest = 0;
  }

  add(x) {
    const next = this.sum + x;
    this.rest += Math.abs(this.sum) >= Math.abs(x) ? (this.sum - next) + x : (x - next) + this.sum;
    this.sum = next;
  }

  get value() {
    return this.sum + this.rest;
  }
}

// Many such sums at once.
class Sums {
  constructor(n) {
    this.sums = new Float64Array(n);
    this.rests = new Float64Array(n);
  }

  add(t, x) {
    const sum = this.sums[t];
    const next = sum + x;
    this.rests[t] += Math.abs(sum) >= Math.abs(x) ? (sum - next) + x : (x - next) + sum;
    this.sums[t] = next;
  }

  get values() {
    return this.sums.map((sum, t) => sum + this.rests[t]);
  }
}

// Terms: the components of the same players, added up. The term of nobody is the mean.
class Terms {
  constructor() {
    this.players = [];
    this.position = new Map();
    const playerOf = new Int32Array(facts.features.length);
    facts.players.forEach((player, p) => player.features.forEach((i) => { playerOf[i] = p; }));
    this.playerOf = playerOf;
  }

  of(features) {
    const touched = [...new Set(features.map((i) => this.playerOf[i]))].sort((a, b) => a - b);
    const key = touched.join(',');
    if (!this.position.has(key)) {
      this.position.set(key, this.players.length);
      this.players.push(touched);
    }
    return this.position.get(key);
  }

  find(players) {
    const found = this.position.get(players.join(','));
    return found === undefined ? -1 : found;
  }
}

// Components as tables: the cell of a set is the number whose bits are its features, the first the highest.
class Tables {
  constructor(packed, nOutputs) {
    this.m = nOutputs;
    this.sizes = bytes(packed.sizes);
    this.features = new Uint32Array(bytes(packed.features).buffer);
    this.values = doubles(packed.values);
    const n = this.sizes.length;
    this.featureStart = new Uint32Array(n + 1);
    this.valueStart = new Uint32Array(n + 1);
    this.terms = new Terms();
    this.termOf = new Uint32Array(n);
    for (let j = 0; j < n; j += 1) {
      this.featureStart[j + 1] = this.featureStart[j] + this.sizes[j];
      this.valueStart[j + 1] = this.valueStart[j] + this.m * 2 ** this.sizes[j];
      this.termOf[j] = this.terms.of(Array.from(this.features.subarray(this.featureStart[j], this.featureStart[j + 1])));
    }
    this.members = this.terms.players.map(() => []);
    this.termOf.forEach((t, j) => this.members[t].push(j));
  }

  component(j, bits, output) {
    let cell = 0;
    for (let k = this.featureStart[j]; k < this.featureStart[j + 1]; k += 1) cell = 2 * cell + bits[this.features[k]];
    return this.values[this.valueStart[j] + output * 2 ** this.sizes[j] + cell];
  }

  term(t, bits, output) {
    const sum = new Sum();
    for (const j of this.members[t]) sum.add(this.component(j, bits, output));
    return sum.value;
  }

  // All terms at one row, their sum, and how many components have a cell that was never observed.
  at(bits, output) {
    const sums = new Sums(this.terms.players.length);
    const total = new Sum();
    let unseen = 0;
    for (let j = 0; j < this.sizes.length; j += 1) {
      let f = this.component(j, bits, output);
      if (Number.isNaN(f)) {
        unseen += 1;
        f = 0;
      }
      sums.add(this.termOf[j], f);
      total.add(f);
    }
    return { values: sums.values, total: total.value, unseen };
  }
}

// Coefficients of all sets and the pmf: f_S = beta_S chi_S / (2^|S| p_S). The last feature is the lowest bit of an index.
class Cube {
  constructor(packed, nOutputs) {
    this.d = facts.features.length;
    this.pmf = doubles(packed.pmf);
    this.coefficients = Array.from({ length: nOutputs }, (_, o) => doubles(packed.coefficients).subarray(o * 2 ** this.d, (o + 1) * 2 ** this.d));
    this.terms = new Terms();
    this.termOf = new Uint32Array(2 ** this.d);
    for (let s = 0; s < 2 ** this.d; s += 1) this.termOf[s] = this.terms.of(this.featuresOf(s));
    this.members = this.terms.players.map(() => []);
    this.termOf.forEach((t, s) => this.members[t].push(s));
  }

  featuresOf(s) {
    return Array.from({ length: this.d }, (_, i) => i).filter((i) => (s >> (this.d - 1 - i)) & 1);
  }

  // psi_S(x) of all sets, from P(X_S = x_S), which is summed out one feature at a time.
  psi(bits) {
    const p = Float64Array.from(this.pmf);
    const out = new Float64Array(p.length);
    const sign = new Float64Array(p.length).fill(1);
    for (let i = 0; i < this.d; i += 1) {
      const stride = 2 ** (this.d - 1 - i);
      for (let s = 0; s < p.length; s += 1) {
        if ((s & stride) === 0) {
          const both = p[s] + p[s + stride];
          p[s + stride] = bits[i] ? p[s + stride] : p[s];
          p[s] = both;
        } else {
          sign[s] *= bits[i] ? -0.5 : 0.5;
        }
      }
    }
    for (let s = 0; s < p.length; s += 1) out[s] = sign[s] / p[s];
    return out;
  }

  term(t, bits, output) {
    const psi = this.psi(bits);
    const sum = new Sum();
    for (const s of this.members[t]) if (this.coefficients[output][s] !== 0) sum.add(this.coefficients[output][s] * psi[s]);
    return sum.value;
  }

  at(bits, output) {
    const psi = this.psi(bits);
    const sums = new Sums(this.terms.players.length);
    const total = new Sum();
    for (let s = 0; s < psi.length; s += 1) {
      const beta = this.coefficients[output][s];
      if (beta !== 0) {
        sums.add(this.termOf[s], beta * psi[s]);
        total.add(beta * psi[s]);
      }
    }
    return { values: sums.values, total: total.value, unseen: 0 };
  }
}

const kept = JSON.parse(byId('components').textContent);
const model = { none: () => null, cube: () => new Cube(kept, facts.outputs.length), tables: () => new Tables(kept, facts.outputs.length) }[kept.kind]();
const whyNoModel = () => kept.reason;

// The inputs of each player.
const inputsOfPlayer = facts.players.map(() => []);
facts.inputs.forEach((input, k) => inputsOfPlayer[input.player].push({ ...input, k }));

// Bits from the states of all inputs.
function bitsOf(states) {
  const bits = new Uint8Array(facts.features.length);
  facts.inputs.forEach((input, k) => {
    const chosen = input.states[states[k]].bits;
    input.features.forEach((i, j) => { bits[i] = chosen[j]; });
  });
  return bits;
}
