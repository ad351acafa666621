import { sumText } from "../Decision.ts"
import { shortId } from "../Hex.ts"
import type { Intent } from "../Intent.ts"
import {
  type AlertFields,
  type CatalogueEntry,
  type Fact,
  type FactsIn,
  isFact,
  type Severity,
} from "./CatalogueEntry.ts"
import { type AlertName, catalogue } from "./catalogue.ts"

/** Something people should know. */
export interface Alert {
  /** Identity: a second alert with the same text here is the same alert, and is not sent again. */
  readonly dedup: string
  readonly severity: Severity
  /** Static word by which receivers sort: "asset", "intent", "rule" … */
  readonly kind: string
  readonly subject: string
  /** One sentence for a person. */
  readonly detail: string
  readonly fields: AlertFields
  /**
   * For an all-clear: `dedup` of each alert that it ends, or its beginning up to a "/". It goes to the receivers of
   * that alert, or by its severity if none is stored any more.
   */
  readonly resolves?: ReadonlyArray<string>
  /** Receivers; absent or none: those of its severity. */
  readonly to?: ReadonlyArray<string>
  /** Name in the catalogue. */
  readonly name?: string
  /** It has an all-clear, and is repeated until then. */
  readonly repeats?: boolean
}

type Entries = typeof catalogue
type Given<E> = E extends { readonly severity: "given" } ? { readonly severity: Severity } : unknown
type Common<E> = E extends { subject: infer S; fields: infer F extends ReadonlyArray<string> }
  ? FactsIn<S> | F[number]
  : never

/** Facts that an alert of this name needs, by the variables of its texts. */
export type FactsOf<N extends AlertName> = Given<Entries[N]> &
  Readonly<
    Record<Common<Entries[N]> | FactsIn<Entries[N]["id"] | Entries[N]["text"]> | FactsIn<RemedyOf<Entries[N]>>, Fact>
  >
type SubjectOf<E> = E extends { subject: infer S } ? S : never
type RemedyOf<E> = E extends { remedy: infer R } ? R : never

/** Names of the alerts whose cause raises the all-clear. */
export type LastingName = {
  [N in AlertName]: Entries[N] extends { until: string } ? never : Entries[N] extends { over: object } ? N : never
}[AlertName]
type OverOf<E> = E extends { over: infer O } ? O : never
type OverTexts<O> = O extends { text: infer T } ? T | (O extends { id: infer I } ? I : never) | EndsIn<O> : never
type EndsIn<O> = O extends { ends: infer E extends ReadonlyArray<string> } ? E[number] : never
type IdOf<E, O> = O extends { id: string; ends: ReadonlyArray<string> } ? never : E extends { id: infer I } ? I : never

/** Facts that the all-clear of an alert needs. */
export type OverFactsOf<N extends LastingName> = Readonly<
  Record<
    | FactsIn<SubjectOf<Entries[N]>>
    | FactsIn<OverTexts<OverOf<Entries[N]>>>
    | FactsIn<IdOf<Entries[N], OverOf<Entries[N]>>>,
    Fact
  >
>

const filled = (template: string, facts: Readonly<Record<string, Fact>>): string =>
  template.replace(/\{([a-zA-Z]+)\}/g, (_, name: string) => String(facts[name]))

const fieldsOf = ({ fields }: CatalogueEntry, facts: Readonly<Record<string, Fact>>): AlertFields =>
  Object.fromEntries(fields.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name]]])))

/** The alert of this name about these facts. */
export const alertOf = <N extends AlertName>(name: N, given: FactsOf<N>): Alert => {
  const entry: CatalogueEntry = catalogue[name]
  const facts = given as Readonly<Record<string, Fact>>
  const severity = entry.severity === "given" ? (facts["severity"] as Severity) : entry.severity
  const hasRemedy = entry.remedy !== undefined && (severity !== "info" || entry.severity === "info")
  const remedy = hasRemedy ? `; ${filled(entry.remedy, facts)}` : ""
  return {
    dedup: filled(entry.id, facts),
    severity,
    kind: entry.kind,
    subject: filled(entry.subject, facts),
    detail: `${filled(entry.text, facts)}${remedy}`,
    fields: fieldsOf(entry, facts),
    name,
    repeats: entry.over !== undefined && entry.renews !== true,
  }
}

/** The all-clear of an alert: no page, whatever it ends. */
export const overOf = <N extends LastingName>(name: N, facts: OverFactsOf<N>): Alert => {
  const entry: CatalogueEntry = catalogue[name]
  const { text, id = `${entry.id}/over`, ends = [entry.id] } = entry.over!
  return {
    dedup: filled(id, facts),
    severity: "info",
    kind: entry.kind,
    subject: filled(entry.subject, facts),
    detail: filled(text, facts),
    fields: { ...fieldsOf(entry, facts), over: true },
    name,
    resolves: ends.map((one) => filled(one, facts)),
  }
}

/** True if an alert of this name is about something that happened once. */
export const isFactName = (name: string): boolean => name in catalogue && isFact(catalogue[name as AlertName])

/** Stored parts of an alert that its end needs. */
export type StoredAlert = Pick<Alert, "dedup" | "kind" | "subject" | "fields"> & { readonly name: string }

/** Text of an alert's all-clear. */
export const overText = ({ name, fields }: StoredAlert, facts: AlertFields): string =>
  filled((catalogue[name as AlertName] as CatalogueEntry).over?.text ?? "", { ...fields, ...facts })

/** One all-clear of stored alerts of one kind and subject, the oldest first. */
export const overAll = (alerts: readonly [StoredAlert, ...Array<StoredAlert>], detail: string): Alert => {
  const [{ dedup, name, kind, subject, fields }] = alerts
  const resolves = alerts.map((alert) => alert.dedup)
  return {
    dedup: `${dedup}/over`,
    severity: "info",
    kind,
    subject,
    detail,
    fields: { ...fields, over: true },
    name,
    resolves,
  }
}

/** Facts that all alerts about a payment share. `payment` reads "RULE: AMOUNT FROM -> TO". */
export const paymentFacts = ({ id, rule, payment, decimals, state }: Intent) => ({
  payment: `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to}`,
  intent: id,
  short: shortId(id).slice(0, 4),
  state: state as string,
})
