import type { CodeSeen } from "../../rules/Code.ts"
import type { RuleText } from "../schema/RuleText.ts"

/**
 * The types of a file of rules in TypeScript:
 *
 *     import type { Rules } from "cofferer/rules"
 *     export const rules: Rules = [ … ]
 *
 * Every value is a text as in YAML, so that no amount passes through a double: "25_000", "0.5", "30s", "5%".
 */

export type Rules = ReadonlyArray<Rule>

/** Exactly one kind, and its modifiers. */
type Rule = Omit<RuleText, "code"> & { readonly code?: Code | undefined }

/** One payer, its receivers, and a function that says how much they need. */
type Code = Omit<NonNullable<RuleText["code"]>, "need"> & {
  /** Undefined or an empty list if nothing is needed. The same `seen` must give the same answer. */
  readonly need: (seen: Seen) => Wanted | ReadonlyArray<Wanted> | undefined
}

/** One payment that is needed, before fees; all of a rule's payments are made together, or none. */
interface Wanted {
  /** Base units, or units of the asset as text. */
  readonly pay: bigint | string
  /** May be left out where the rule has one receiver. */
  readonly to?: string | undefined
  /** Shown to people as the reason. */
  readonly because?: string | undefined
}

/** Input of `need`; frozen. */
export type Seen = CodeSeen
