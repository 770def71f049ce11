// The model: ids of source pieces in; the most probable translation out (greedy search), with its log-probabilities and
// its attention to the source. All settings and tables come from nmt (html.py), which computes the same in PyTorch.
//
// Arrays are flat: a matrix O × I has O rows. n rows (positions) at once, M model width, H heads, K key–value heads,
// D head width, S source positions.

class Model {
  /** `settings`: what html.py says of the model; `tensors` and `multiply`: see tensorsOf. */
  constructor(settings, { tensors, multiply }) {
    Object.assign(this, settings, { tensors, multiply });
  }

  /** A linear layer: n rows of x, times a matrix, plus a bias if there is one. */
  linear(x, name, n = 1) {
    const [weight, bias] = [this.tensors[`${name}.weight`], this.tensors[`${name}.bias`]];
    const [inner, outer] = [x.length / n, (weight.length * n) / x.length];
    const y = new Float32Array(n * outer);
    for (let row = 0; row < n; row += 1)
      this.multiply(weight, x.subarray(row * inner, (row + 1) * inner), y.subarray(row * outer, (row + 1) * outer));
    if (bias) for (let i = 0; i < y.length; i += 1) y[i] += bias[i % outer];
    return y;
  }

  /** LayerNorm or RMSNorm of rows of x; the same x if the model has no norm of that name. */
  norm(x, name, kind = this.normKind, epsilon = this.epsilon) {
    const [weight, bias] = [this.tensors[`${name}.weight`], this.tensors[`${name}.bias`]];
    if (!weight) return x;
    const [y, width] = [new Float32Array(x.length), weight.length];
    for (let start = 0; start < x.length; start += width) {
      let mean = 0;
      let square = 0;
      if (kind === "layer") for (let i = 0; i < width; i += 1) mean += x[start + i] / width;
      for (let i = 0; i < width; i += 1) square += (x[start + i] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(square + epsilon);
      for (let i = 0; i < width; i += 1) y[start + i] = (x[start + i] - mean) * scale * weight[i] + (bias?.[i] ?? 0);
    }
    return y;
  }

  /** The connection around a sublayer: x + f(norm(x)), or norm(x + f(x)). */
  around(x, name, sublayer) {
    const y = sublayer(this.isPreNorm ? this.norm(x, name) : x);
    for (let i = 0; i < x.length; i += 1) y[i] += x[i];
    return this.isPreNorm ? y : this.norm(y, name);
  }

  feedForward(x, name, n) {
    const inner = this.linear(x, `${name}.up`, n);
    const width = inner.length / n;
    const f = ACTIVATIONS[this.activation];
    if (!this.isGated) return this.linear(inner.map(f), `${name}.down`, n);
    const half = width / 2;
    const gated = new Float32Array(n * half);
    for (let i = 0; i < gated.length; i += 1) {
      const start = Math.floor(i / half) * width + (i % half);
      gated[i] = f(inner[start]) * inner[start + half];
    }
    return this.linear(gated, `${name}.down`, n);
  }

  /** Embeddings of ids at positions from `first` on. */
  embedded(ids, side, first = 0) {
    const [table, added] = [this.tensors[`${side}_embedding.weight`], this.tensors[`${side}_positions`]];
    const [M, x] = [this.width, new Float32Array(ids.length * this.width)];
    for (const [n, id] of ids.entries())
      for (let i = 0; i < M; i += 1)
        x[n * M + i] = table[id * M + i] * this.scale + (added?.[(first + n) * M + i] ?? 0);
    return this.norm(x, `${side}_positions.norm`);
  }

  /** Attention of n rows of x, from position `first` on, to the past in `kept`, to which theirs is added, and to each other. */
  selfAttention(x, name, n, kept, first) {
    const { heads: H, keyHeads: K, headWidth: D } = this;
    const [all, queries, row] = [this.linear(x, `${name}.qkv`, n), new Float32Array(n * H * D), (H + 2 * K) * D];
    for (let i = 0; i < n; i += 1) {
      const parts = [H, K, K].map((count, k) =>
        all.subarray(i * row + [0, H, H + K][k] * D, i * row + [H, H + K, row / D][k] * D),
      );
      queries.set(this.placed(parts[0], `${name}.q_norm`, first + i), i * H * D);
      kept.keys.set(this.placed(parts[1], `${name}.k_norm`, first + i), (first + i) * K * D);
      kept.values.set(parts[2], (first + i) * K * D);
    }
    return this.linear(this.attended(queries, kept, n, first + n), `${name}.out`, n);
  }

  /** Heads as scores compare them: normalised and rotated, as the settings say. */
  placed(heads, norm, position) {
    const [x, table, D] = [this.norm(heads, norm, "rms", 1e-6), this.tensors.rotary, this.headWidth];
    if (!table) return x;
    const [cosine, sine] = [position * D, table.length / 2 + position * D];
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += D)
      for (let i = 0; i < D; i += 1)
        y[start + i] = x[start + i] * table[cosine + i] + x[start + ((i + D / 2) % D)] * table[sine + i];
    return y;
  }

  /** Means of m values, weighted by attention. `mean`: gets the mean weights of heads. */
  attended(queries, { keys, values }, n, m, mean) {
    const { heads: H, keyHeads: K, headWidth: D } = this;
    const [y, scores] = [new Float32Array(n * H * D), new Float64Array(m)];
    for (let row = 0; row < n * H; row += 1) {
      const own = Math.floor(((row % H) * K) / H) * D;
      let most = -Infinity;
      let sum = 0;
      for (let j = 0; j < m; j += 1) {
        scores[j] = dot(queries, row * D, keys, j * K * D + own, D) / Math.sqrt(D);
        most = Math.max(most, scores[j]);
      }
      for (let j = 0; j < m; j += 1) sum += scores[j] = Math.exp(scores[j] - most);
      for (let j = 0; j < m; j += 1) {
        const weight = scores[j] / sum;
        if (mean) mean[j] += weight / H;
        for (let i = 0; i < D; i += 1) y[row * D + i] += weight * values[j * K * D + own + i];
      }
    }
    return y;
  }

  room(length) {
    const size = length * this.keyHeads * this.headWidth;
    return { keys: new Float32Array(size), values: new Float32Array(size) };
  }

  /** Reads a source: what a search needs of it, with room for `length` target positions. Pauses after each layer. */
  *start(source, length) {
    const ids = [...this.before, ...source, ...(this.sourceEnd ? [EOS] : [])];
    const n = ids.length;
    let x = this.embedded(ids, "src");
    for (let layer = 0; layer < this.encoder; layer += 1) {
      const name = `encoder.${layer}`;
      const attend = (y) => this.selfAttention(y, `${name}.self_attention`, n, this.room(n), 0);
      x = this.around(x, `${name}.around_self.norm`, attend);
      x = this.around(x, `${name}.around_feed_forward.norm`, (y) =>
        this.feedForward(y, `${name}.feed_forward`, n),
      );
      yield;
    }
    x = this.norm(x, "encoder_norm");
    const [sources, past] = [[], []];
    for (let layer = 0; layer < this.decoder; layer += 1) {
      const name = `decoder.${layer}.cross_attention`;
      const [both, kv, half] = [this.linear(x, `${name}.kv`, n), this.room(n), this.keyHeads * this.headWidth];
      for (let i = 0; i < n; i += 1) {
        kv.keys.set(both.subarray(2 * i * half, (2 * i + 1) * half), i * half);
        kv.values.set(both.subarray((2 * i + 1) * half, 2 * (i + 1) * half), i * half);
      }
      sources.push({ ...kv, keys: this.norm(kv.keys, `${name}.k_norm`, "rms", 1e-6) });
      past.push(this.room(length));
      yield;
    }
    return { n, position: 0, sources, past };
  }

  /** The logits after one more target id; `cache.attention` becomes that of the last layer to the source. */
  step(id, cache) {
    let x = this.embedded([id], "tgt", cache.position);
    for (let layer = 0; layer < this.decoder; layer += 1) {
      const name = `decoder.${layer}`;
      cache.attention = new Float32Array(cache.n);
      const attend = (y) =>
        this.selfAttention(y, `${name}.self_attention`, 1, cache.past[layer], cache.position);
      const look = (y) => {
        const query = this.norm(
          this.linear(y, `${name}.cross_attention.q`),
          `${name}.cross_attention.q_norm`,
          "rms",
          1e-6,
        );
        const found = this.attended(query, cache.sources[layer], 1, cache.n, cache.attention);
        return this.linear(found, `${name}.cross_attention.out`);
      };
      x = this.around(x, `${name}.around_self.norm`, attend);
      x = this.around(x, `${name}.around_cross.norm`, look);
      x = this.around(x, `${name}.around_feed_forward.norm`, (y) =>
        this.feedForward(y, `${name}.feed_forward`, 1),
      );
    }
    cache.position += 1;
    return this.linear(this.norm(x, "decoder_norm"), "output");
  }

  /** The greedy translation of a source: {ids, logProbs (the last is that of the end), attention}. Pauses at each step. */
  *greedy(source, ratio = this.ratio) {
    const limit = Math.min(Math.floor(ratio * source.length) + 10, this.longest[1]);
    const cache = yield* this.start(source, limit + 1);
    const found = { ids: [], logProbs: [], attention: [] };
    for (let id = BOS; ;) {
      const logits = this.step(id, cache);
      const total = logSum(logits);
      for (const never of this.never) logits[never] = -Infinity;
      id = EOS;
      if (found.ids.length < limit) for (let i = 0; i < logits.length; i += 1) if (logits[i] > logits[id]) id = i;
      found.logProbs.push(logits[id] - total);
      if (id === EOS) return found;
      found.ids.push(id);
      found.attention.push(cache.attention.subarray(this.before.length));
      yield;
    }
  }

  /** The log-probability of each id of a given translation, and of its end. */
  *score(source, target) {
    const cache = yield* this.start(source, target.length + 1);
    const found = [];
    for (const [n, id] of [BOS, ...target].entries()) {
      const logits = this.step(id, cache);
      found.push(logits[target[n] ?? EOS] - logSum(logits));
      yield;
    }
    return found;
  }
}

function dot(a, i, b, j, length) {
  let sum = 0;
  for (let k = 0; k < length; k += 1) sum += a[i + k] * b[j + k];
  return sum;
}

/** The logarithm of the sum of exponentials. */
function logSum(logits) {
  let most = -Infinity;
  let sum = 0;
  for (let i = 0; i < logits.length; i += 1) most = Math.max(most, logits[i]);
  for (let i = 0; i < logits.length; i += 1) sum += Math.exp(logits[i] - most);
  return most + Math.log(sum);
}

const silu = (x) => x / (1 + Math.exp(-x));
const gelu = (x) => (x * (1 + erf(x / Math.SQRT2))) / 2;
const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  gelu,
  silu,
  relu2: (x) => Math.max(0, x) ** 2,
  swiglu: silu,
  geglu: gelu,
};

/** The error function, with an error below 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

// A matrix times a vector in WebAssembly, four products at once: f(w, x, y, bytes of a row, rows).
const KERNEL = `
  0061736d01000000 0109 0160057f7f7f7f7f00       (a function of five i32)
  0208 01016d016d020001 0302 0100 0705 0101660000 (uses the memory m.m, and is called f)
  0a8101 017f 02017b017f                         (sum: v128, i: i32)
  0340                                           (for each row)
    fd0c00000000000000000000000000000000 2105 4100 2106  (sum = 0, i = 0)
    0340                                         (for each four columns)
      2005 200020066afd000200 200120066afd000200 fde601 fde401 2105  (sum += w[i] * x[i])
      200641106a2206 200349 0d00                 (i += 16, while it is below the bytes of a row)
    0b
    2002 2005fd1f00 2005fd1f0192 2005fd1f0292 2005fd1f0392 380200    (y = the sum of the four sums)
    200020036a2100 200241046a2102 200441016b2204 0d00    (the next row)
  0b 0b`;

/** A function (weight, x, y) that writes the product of a matrix and a vector to y. `memory` holds the weights. */
function multiplier(memory, input, output) {
  const slowly = (weight, x, y) => {
    for (let o = 0; o < y.length; o += 1) y[o] = dot(weight, o * x.length, x, 0, x.length);
  };
  try {
    const bytes = Uint8Array.from(KERNEL.replace(/\(.*\)|\s/g, "").match(/../g), (hex) => parseInt(hex, 16));
    const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { m: memory } }).exports;
    return (weight, x, y) => {
      if (x.length % 4) return slowly(weight, x, y);
      input.set(x);
      f(weight.byteOffset, input.byteOffset, output.byteOffset, 4 * x.length, y.length);
      y.set(output.subarray(0, y.length));
    };
  } catch {
    return slowly; // the browser has no WebAssembly, or no SIMD
  }
}

/** Arrays by name, from all bytes: [type, where it begins, rows, columns]; int8 has a factor for each row after it. */
function tensorsOf(layout, buffer) {
  const parts = new Map(Object.values(layout).map((part) => [part[1], part])); // tensors may share theirs
  const longest = Math.max(...[...parts.values()].flatMap(([, , rows, columns]) => [rows, columns]));
  const total = [...parts.values()].reduce((sum, [, , rows, columns]) => sum + rows * columns + 3, 2 * longest + 6);
  const pages = Math.ceil(total / 16_384);
  const memory = globalThis.WebAssembly
    ? new WebAssembly.Memory({ initial: pages })
    : { buffer: new ArrayBuffer(pages << 16) };
  let end = 0;
  const room = (size) => {
    const start = 16 * Math.ceil(end / 16);
    end = start + 4 * size;
    return new Float32Array(memory.buffer, start, size);
  };
  const [input, output] = [room(longest), room(longest)];
  const arrays = new Map();
  for (const [start, [type, , rows, columns]] of parts) {
    const size = rows * columns;
    arrays.set(start, room(size));
    if (type === "float32") arrays.get(start).set(new Float32Array(buffer, start, size));
    else {
      const [small, factors] = [
        new Int8Array(buffer, start, size),
        new Float32Array(buffer, start + Math.ceil(size / 4) * 4, rows),
      ];
      for (let i = 0; i < size; i += 1) arrays.get(start)[i] = small[i] * factors[Math.floor(i / columns)];
    }
  }
  const tensors = Object.fromEntries(Object.entries(layout).map(([name, part]) => [name, arrays.get(part[1])]));
  return { tensors, multiply: multiplier(memory, input, output) };
}
