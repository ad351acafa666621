/** What of a schema's tree is looked at here. */
export interface Ast {
  readonly _tag?: string
  readonly types?: ReadonlyArray<Ast>
  readonly rest?: ReadonlyArray<Ast>
  readonly literal?: unknown
  readonly propertySignatures?: ReadonlyArray<{ readonly name: PropertyKey; readonly type: Ast }>
  readonly indexSignatures?: ReadonlyArray<{
    readonly parameter: Ast
    readonly type: Ast
  }>
  readonly checks?: ReadonlyArray<{ readonly annotations?: { readonly expected?: unknown } }>
}

/** The names of a map that has fixed ones. */
export const knownKeys = ({ propertySignatures }: Ast): ReadonlyArray<string> =>
  propertySignatures?.map(({ name }) => String(name)) ?? []

/** What the names of a map of free names look like. */
export const nameFormOf = ({ indexSignatures }: Ast): string | undefined => {
  const expected = indexSignatures?.[0]?.parameter.checks?.[0]?.annotations?.expected
  return typeof expected === "string" ? expected : undefined
}

/** The literals that a union or a literal takes. */
export const literalsOf = ({ types, literal }: Ast): ReadonlyArray<string> =>
  literal === undefined ? (types?.flatMap(literalsOf) ?? []) : [String(literal)]

export const childOf = (ast: Ast, name: string): Ast | undefined =>
  ast.propertySignatures?.find((signature) => String(signature.name) === name)?.type

/** The maps with fixed names that a value may be, or that its items may be. */
const mapsIn = (ast: Ast): ReadonlyArray<Ast> => {
  if (ast._tag === "Objects" && ast.propertySignatures !== undefined) return [ast]
  return [...(ast.types ?? []), ...(ast.rest ?? [])].flatMap(mapsIn)
}

const levelsMax = 2

/** The way from a map to one that has the key, by the names on it: first through what the value has, then at all. */
export const under = (ast: Ast, key: string, value: unknown): ReadonlyArray<string> | undefined => {
  const given = typeof value === "object" && value !== null ? Object.keys(value) : []
  const names = knownKeys(ast)
  const first = names.filter((name) => given.includes(name))
  return found(ast, key, first) ?? (first.some((name) => kinds.has(name)) ? undefined : found(ast, key, names))
}

/** Where one of them is given, the key of another kind of rule is not meant. */
const kinds: ReadonlySet<string> = new Set(["topUp", "sweep", "rebalance", "split", "payout", "request", "withdraw"])

const found = (
  ast: Ast,
  key: string,
  names: ReadonlyArray<string>,
  levels: number = levelsMax,
): ReadonlyArray<string> | undefined => {
  const inner = names.flatMap((name) => mapsIn(childOf(ast, name) ?? {}).map((map) => ({ name, map })))
  const direct = inner.find(({ map }) => knownKeys(map).includes(key))
  if (direct !== undefined) return [direct.name]
  if (levels <= 1) return undefined
  for (const { name, map } of inner) {
    const rest = found(map, key, knownKeys(map), levels - 1)
    if (rest !== undefined) return [name, ...rest]
  }
  return undefined
}
