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
