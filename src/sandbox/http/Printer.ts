/**
 * How a message of the network becomes JSON. What a printer leaves out is `undefined`, which JSON drops by itself.
 */
export interface Printer {
  readonly text: (value: string) => string | undefined
  /** A whole number of 64 bits: digits in quotes. */
  readonly whole: (value: bigint | number) => string | undefined
  readonly flag: (value: boolean) => boolean | undefined
  /** A member of an enumeration; one whose name nobody knows is its number in both forms. */
  readonly choice: (name: string, number: number) => string | number | undefined
  readonly list: <A>(items: ReadonlyArray<A>) => ReadonlyArray<A> | undefined
  /** A message that is not there. */
  readonly absent: null | undefined
}

/** Names of enumerations, and every field even where it says nothing: the block explorer, the core, most listings. */
export const full: Printer = {
  text: (value) => value,
  whole: (value) => value.toString(),
  flag: (value) => value,
  choice: (name, number) => (name === String(number) ? number : name),
  list: (items) => items,
  absent: null,
}

/** Numbers of enumerations, and no field that says nothing: the streams of the data node. */
export const terse: Printer = {
  text: (value) => (value === "" ? undefined : value),
  whole: (value) => (BigInt(value) === 0n ? undefined : value.toString()),
  flag: (value) => (value ? true : undefined),
  choice: (_name, number) => (number === 0 ? undefined : number),
  list: (items) => (items.length === 0 ? undefined : items),
  absent: undefined,
}
