/** Bytes of WebAssembly code. */
type Code = ReadonlyArray<number>

/** The rounds of Keccak-f[1600] as FIPS 202, 3.2 defines them: rotations and constants. Lane x + 5y is (x, y). */
const rounds = 24
const rotations = (): ReadonlyArray<number> => {
  const offsets = new Array<number>(25).fill(0)
  let [x, y] = [1, 0]
  for (let t = 0; t < 24; t++) {
    offsets[x + 5 * y] = (((t + 1) * (t + 2)) / 2) % 64
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
  }
  return offsets
}
const roundConstants = (): BigUint64Array => {
  let bits = 1
  return BigUint64Array.from({ length: rounds }, () => {
    let constant = 0n
    for (let j = 0; j <= 6; j++) {
      if (bits & 1) constant |= 1n << BigInt(2 ** j - 1)
      bits = (bits << 1) ^ (bits & 0x80 ? 0x171 : 0)
    }
    return constant
  })
}

/** Unsigned and signed numbers as WebAssembly writes them (LEB128). */
const unsigned = (n: number): Code => (n < 0x80 ? [n] : [(n & 0x7f) | 0x80, ...unsigned(n >>> 7)])
const signed = (n: number): Code => (n >= -0x40 && n < 0x40 ? [n & 0x7f] : [(n & 0x7f) | 0x80, ...signed(n >> 7)])
const counted = (items: ReadonlyArray<Code>): Code => [...unsigned(items.length), ...items.flat()]
const sized = (code: Code): Code => [...unsigned(code.length), ...code]
const section = (id: number, content: Code): Code => [id, ...sized(content)]

/** Instructions and types by the names of the WebAssembly specification, appendix "Index of Instructions". */
const simd = (opcode: number): Code => [0xfd, ...unsigned(opcode)]
const [i32, i64, v128] = [0x7f, 0x7e, 0x7b]
const flow = { loop: [0x03, 0x40], if: [0x04, 0x40], end: [0x0b], brIf: [0x0d, 0], return: [0x0f] }
const num = {
  i32Add: [0x6a],
  i32LtU: [0x49],
  i64Load: [0x29],
  i64Eqz: [0x50],
  i64LtU: [0x54],
  i64Add: [0x7c],
  i64Sub: [0x7d],
  i64And: [0x83],
  i64Or: [0x84],
  i64Xor: [0x85],
  i64Shl: [0x86],
  i64ShrU: [0x88],
  i64Rotl: [0x89],
  i64ExtendI32U: [0xad],
}
const vec = {
  load64Splat: simd(0x0a),
  i8x16Shuffle: simd(0x0d),
  i64x2Splat: simd(0x12),
  i64x2ExtractLane: simd(0x1d),
  i64x2ReplaceLane: simd(0x1e),
  and: simd(0x4e),
  andnot: simd(0x4f),
  or: simd(0x50),
  xor: simd(0x51),
  anyTrue: simd(0x53),
  i64x2Shl: simd(0xcb),
  i64x2ShrU: simd(0xcd),
  i64x2Eq: simd(0xd6),
}
const get = (local: number): Code => [0x20, ...unsigned(local)]
const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)]
const i32Const = (n: number): Code => [0x41, ...signed(n)]
const i64Const = (n: number): Code => [0x42, ...signed(n)]
/** Loads the 64-bit word at an address: `base` is code that gives an i32; 3 says that it is aligned to 2^3 bytes. */
const at = (load: Code, base: Code, offset: number): Code => [...base, ...load, 3, ...unsigned(offset)]

/** A width of words: one nonce at a time in 64 bits, or two beside each other in 128. */
interface Width {
  readonly type: number
  readonly nonces: number
  readonly load: (base: Code, offset: number) => Code
  readonly xor: Code
  readonly and: Code
  /** `keep` where `unless` is 0. */
  readonly andNot: (keep: Code, unless: Code) => Code
  readonly rotate: (value: Code, by: number) => Code
  /** The low 40 bits of nonce n (and n + 1), most significant byte first, in the low bytes of a word. */
  readonly nonceWord: (n: Code) => Code
  /** Leaves the function with the lower nonce whose word is 0. */
  readonly endWhereZero: (word: Code, scratch: number, n: Code) => Code
}

const reversed = [7, 6, 5, 4, 3, 2, 1, 0]
const shift = (value: Code, by: number, opcode: Code): Code => [...value, ...i32Const(by), ...opcode]
const splat = (n: Code): Code => [...n, ...vec.i64x2Splat]
const next = (n: Code): Code => [...n, ...i64Const(1), ...num.i64Add]

const two: Width = {
  type: v128,
  nonces: 2,
  load: (base, offset) => at(vec.load64Splat, base, offset),
  xor: vec.xor,
  and: vec.and,
  andNot: (keep, unless) => [...keep, ...unless, ...vec.andnot],
  rotate: (value, by) => [...shift(value, by, vec.i64x2Shl), ...shift(value, 64 - by, vec.i64x2ShrU), ...vec.or],
  nonceWord: (n) => {
    const pair = shift([...splat(n), ...next(n), ...vec.i64x2ReplaceLane, 1], 24, vec.i64x2Shl)
    return [...pair, ...pair, ...vec.i8x16Shuffle, ...reversed, ...reversed.map((byte) => byte + 8)]
  },
  endWhereZero: (word, scratch, n) => [
    ...set(scratch, word),
    // Words that equal 0 become ones throughout.
    ...[...get(scratch), ...splat(i64Const(0)), ...vec.i64x2Eq, ...vec.anyTrue, ...flow.if],
    // n + 1, less 1 where the low word is 0.
    ...[...next(n), ...get(scratch), ...vec.i64x2ExtractLane, 0],
    ...[...num.i64Eqz, ...num.i64ExtendI32U, ...num.i64Sub, ...flow.return, ...flow.end],
  ],
}

const one: Width = {
  type: i64,
  nonces: 1,
  load: (base, offset) => at(num.i64Load, base, offset),
  xor: num.i64Xor,
  and: num.i64And,
  andNot: (keep, unless) => [...keep, ...unless, ...i64Const(-1), ...num.i64Xor, ...num.i64And],
  rotate: (value, by) => [...value, ...i64Const(by), ...num.i64Rotl],
  nonceWord: (n) => {
    const byte = (from: number): Code => {
      const low = [...n, ...i64Const(from), ...num.i64ShrU, ...i64Const(0xff), ...num.i64And]
      return [...low, ...i64Const(32 - from), ...num.i64Shl]
    }
    const bytes = [0, 8, 16, 24, 32].map(byte)
    return [...bytes.flat(), ...bytes.slice(1).flatMap(() => num.i64Or)]
  },
  endWhereZero: (word, _, n) => [...word, ...num.i64Eqz, ...flow.if, ...n, ...flow.return, ...flow.end],
}

const lanes = 25
/** Where the memory holds the state before the last permutation, the round constants and the mask of the difficulty. */
const [stateAt, constantsAt, maskAt] = [0, 8 * lanes, 8 * (lanes + rounds)]
/** Locals: the nonce and the end of the search (parameters), the address of a round's constant, words. */
const [nonce, endNonce, address] = [0, 1, 2]
type Words = ReadonlyArray<number>
const words = (from: number, count: number): Words => Array.from({ length: count }, (_, i) => from + i)
const [state, following] = [words(3, lanes), words(28, lanes)]
const [columns, mixed, row] = [words(53, 5), words(58, 5), words(63, 5)]

/**
 * `search(from, end)`: the lowest nonce below `end`, a pair's second one excepted, for which the first word of the hash
 * is 0 under the mask; -1 if there is none. One permutation a nonce: all before it is the same for each of them.
 */
const moduleOf = (width: Width): Uint8Array<ArrayBuffer> => {
  const { xor, andNot, rotate, load } = width
  const both = (a: Code, b: Code): Code => [...a, ...b, ...xor]
  const word = (of: Words, i: number): Code => get(of[i] ?? 0)
  const keep = (of: Words, i: number, value: Code): Code => set(of[i] ?? 0, value)
  const offsets = rotations()
  const five = words(0, 5)
  const theta = (from: Words): Code => [
    ...five.flatMap((x) => {
      const column = [5, 10, 15, 20].reduce((sum, y) => both(sum, word(from, x + y)), word(from, x))
      return keep(columns, x, column)
    }),
    ...five.flatMap((x) => keep(mixed, x, both(word(columns, (x + 4) % 5), rotate(word(columns, (x + 1) % 5), 1)))),
  ]
  /** Rho and pi: the lane that comes to (x, y) was at (x + 3y, x). */
  const moved = (from: Words, x: number, y: number): Code => {
    const [origin, lane] = [(x + 3 * y) % 5, ((x + 3 * y) % 5) + 5 * x]
    const [value, offset] = [both(word(from, lane), word(mixed, origin)), offsets[lane] ?? 0]
    return keep(row, x, offset === 0 ? value : rotate(value, offset))
  }
  const chi = (x: number): Code => both(word(row, x), andNot(word(row, (x + 2) % 5), word(row, (x + 1) % 5)))
  /** Row by row: the five lanes of one stay in registers. */
  const round = (from: Words, to: Words, base: Code, offset: number): Code => [
    ...theta(from),
    ...five.flatMap((y) => [
      ...five.flatMap((x) => moved(from, x, y)),
      ...five.flatMap((x) => keep(to, x + 5 * y, chi(x))),
    ]),
    ...keep(to, 0, both(word(to, 0), load(base, offset))),
  ]
  const zero = i32Const(0)
  const lastRound = rounds - 1
  // Only the first word of the last round is read: three lanes of 25.
  const last = [...theta(following), ...[0, 1, 2].flatMap((x) => moved(following, x, 0))]
  const first = both(chi(0), load(zero, constantsAt + 8 * lastRound))
  const body = [
    ...flow.loop,
    ...words(0, lanes).flatMap((i) => keep(state, i, load(zero, stateAt + 8 * i))),
    ...keep(state, 1, both(word(state, 1), width.nonceWord(get(nonce)))),
    ...set(address, i32Const(constantsAt)),
    // Two rounds a turn: unrolled further the code no longer fits the decoder, and is slower.
    ...flow.loop,
    ...[...round(state, following, get(address), 0), ...round(following, state, get(address), 8)],
    ...set(address, [...get(address), ...i32Const(16), ...num.i32Add]),
    ...[...get(address), ...i32Const(constantsAt + 8 * (lastRound - 1)), ...num.i32LtU, ...flow.brIf, ...flow.end],
    ...[...round(state, following, get(address), 0), ...last],
    ...width.endWhereZero([...first, ...load(zero, maskAt), ...width.and], columns[0] ?? 0, get(nonce)),
    ...set(nonce, [...get(nonce), ...i64Const(width.nonces), ...num.i64Add]),
    ...[...get(nonce), ...get(endNonce), ...num.i64LtU, ...flow.brIf, ...flow.end],
    ...[...i64Const(-1), ...flow.end],
  ]
  const locals = counted([
    [1, i32],
    [2 * lanes + 15, width.type],
  ])
  const exported = (name: string, kind: number): Code => [...sized([...Buffer.from(name)]), kind, 0]
  return Uint8Array.from([
    ...[0x00, ...Buffer.from("asm"), 0x01, 0x00, 0x00, 0x00],
    // One type (two i64 to one), one function of it, one page of memory, what is exported, the code.
    ...section(1, counted([[0x60, ...counted([[i64], [i64]]), ...counted([[i64]])]])),
    ...section(3, counted([[0]])),
    ...section(5, counted([[0, 1]])),
    ...section(7, counted([exported("search", 0), exported("memory", 2)])),
    ...section(10, counted([sized([...locals, ...body])])),
  ])
}

/** A compiled search over 2^40 nonces, and the words that it works on. */
export interface Kernel {
  /** 25 words of state before the last permutation, with nonce 0. */
  readonly state: Uint32Array
  /** The bits of the hash's first word that must be 0. */
  readonly mask: BigUint64Array
  readonly search: (from: bigint, end: bigint) => bigint
}

export const widths = { two, one }

/** Two nonces at a time where the machine can, else one. */
export const makeKernel = (width?: Width): Kernel => {
  const fastest = moduleOf(width ?? two)
  const code = width !== undefined || WebAssembly.validate(fastest) ? fastest : moduleOf(one)
  const { memory, search } = new WebAssembly.Instance(new WebAssembly.Module(code)).exports as {
    readonly memory: WebAssembly.Memory
    readonly search: Kernel["search"]
  }
  new BigUint64Array(memory.buffer, constantsAt, rounds).set(roundConstants())
  return {
    state: new Uint32Array(memory.buffer, stateAt, 2 * lanes),
    mask: new BigUint64Array(memory.buffer, maskAt, 1),
    search,
  }
}
