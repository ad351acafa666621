/** What a field holds: it decides which values of it are lies. */
export type FieldKind = "height" | "count" | "flag" | "hash" | "id" | "word" | "amount" | "time" | "instant" | "code"

/** One way to falsify a value; `gone` leaves the field out. */
export interface FalseValue {
  readonly name: string
  readonly of: (old: unknown) => unknown
}

export const gone: unique symbol = Symbol("gone")

const is = (name: string, value: unknown): FalseValue => ({ name, of: () => value })

const wholeOf = (old: unknown): bigint => {
  try {
    return BigInt(String(old))
  } catch {
    return 0n
  }
}

/** In the form in which the field came: text stays text, a number a number. */
const moved = (name: string, change: (old: bigint) => bigint): FalseValue => ({
  name,
  of: (old) => {
    const value = change(wholeOf(old))
    return typeof old === "number" ? Number(value) : String(value)
  },
})

/** Forms that no field has. */
const formless: ReadonlyArray<FalseValue> = [
  is("missing", gone),
  is("null", null),
  is("empty text", ""),
  is("an object", {}),
  is("a list", []),
]

/** Edges of the integers that a decoder or a column may hold. */
const edges: ReadonlyArray<FalseValue> = [
  is("0", "0"),
  is("1", "1"),
  is("-1", "-1"),
  is("2^31", String(2n ** 31n)),
  is("2^32-1", String(2n ** 32n - 1n)),
  is("2^32", String(2n ** 32n)),
  is("2^53", String(2n ** 53n)),
  is("9*10^18", "9000000000000000000"),
  is("2^63-1", String(2n ** 63n - 1n)),
  is("2^63", String(2n ** 63n)),
  is("2^64-1", String(2n ** 64n - 1n)),
  is("2^64", String(2n ** 64n)),
  is("-2^63", String(-(2n ** 63n))),
]

const fractions: ReadonlyArray<FalseValue> = [is("1.5", 1.5), is('"1.5"', "1.5"), is("1e30", 1e30), is("NaN", "NaN")]

const doubled = moved("doubled", (old) => old * 2n)

const kinds: Readonly<Record<FieldKind, ReadonlyArray<FalseValue>>> = {
  height: [
    ...formless,
    ...edges,
    ...fractions,
    doubled,
    moved("1 ahead", (old) => old + 1n),
    moved("30 ahead", (old) => old + 30n),
    moved("600 ahead", (old) => old + 600n),
    moved("100,000 ahead", (old) => old + 100_000n),
    moved("3 behind", (old) => (old > 3n ? old - 3n : 0n)),
    moved("30 behind", (old) => (old > 30n ? old - 30n : 0n)),
  ],
  count: [
    ...formless,
    ...fractions,
    ...[0, 1, -1, 2, 5, 24, 25, 32, 200, 256, 500, 501, 4_000].map((n) => is(String(n), n)),
    is("2^31", 2 ** 31),
    is("2^32-1", 2 ** 32 - 1),
    is("2^32", 2 ** 32),
    is('"2^32-1"', String(2 ** 32 - 1)),
    is("2^53-1", Number.MAX_SAFE_INTEGER),
    doubled,
    moved("1 more", (old) => old + 1n),
  ],
  flag: [...formless, { name: "the contrary", of: (old) => old !== true }, is('"true"', "true"), is("1", 1)],
  hash: [
    ...formless,
    is("zeros", "0".repeat(64)),
    is("another", "5e".repeat(32)),
    is("63 digits", "a".repeat(63)),
    is("65 digits", "a".repeat(65)),
    is("no hex", "g".repeat(64)),
    { name: "upper case", of: (old) => String(old).toUpperCase() },
    is("10,000 digits", "a".repeat(10_000)),
  ],
  id: [
    ...formless,
    is("another", "5e".repeat(32)),
    is("zeros", "0".repeat(64)),
    { name: "upper case", of: (old) => String(old).toUpperCase() },
    { name: "cut", of: (old) => String(old).slice(0, 20) },
    is("a sentence", "'; DROP TABLE intents; --"),
  ],
  word: [
    ...formless,
    is("another", "another-1"),
    is("unknown number", 4_711),
    { name: "with a space", of: (old) => `${String(old)} ` },
    is("10,000 letters", "x".repeat(10_000)),
    is("a zero byte", "a\u0000b"),
  ],
  amount: [
    ...formless,
    ...fractions,
    is("0", "0"),
    is("1", "1"),
    is("-1", "-1"),
    is("2^63", String(2n ** 63n)),
    is("2^64", String(2n ** 64n)),
    is("2^256", String(2n ** 256n)),
    is("78 nines", "9".repeat(78)),
    doubled,
    moved("halved", (old) => old / 2n),
    moved("1 more", (old) => old + 1n),
    moved("a tenth", (old) => old / 10n),
  ],
  time: [
    ...formless,
    ...edges,
    ...fractions,
    moved("an hour ahead", (old) => old + 3_600_000_000_000n),
    moved("an hour behind", (old) => old - 3_600_000_000_000n),
    moved("ten years ahead", (old) => old + 315_360_000_000_000_000n),
    moved("a second ahead", (old) => old + 1_000_000_000n),
  ],
  instant: [
    ...formless,
    is("1970", "1970-01-01T00:00:00Z"),
    is("2200", "2200-01-01T00:00:00Z"),
    is("year 275,760", "+275760-09-13T00:00:00Z"),
    is("no time", "yesterday"),
    is("a number", 1),
  ],
  code: [
    ...formless,
    ...fractions,
    ...[0, 1, -1, 51, 60, 70, 71, 80, 89, 4_711, 2 ** 32, -(2 ** 31)].map((n) => is(String(n), n)),
    is("2^53", 2 ** 53),
  ],
}

/** The lies about a field of the kind. */
export const falseValues = (kind: FieldKind): ReadonlyArray<FalseValue> => kinds[kind]
