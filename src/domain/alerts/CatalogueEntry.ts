/** page: somebody must act now; ticket: on the next working day; info: nobody must act. */
export type Severity = "page" | "ticket" | "info"
export type Fact = string | number | boolean
export type AlertFields = Readonly<Record<string, Fact>>

/** Names of the variables in a template: "a" | "b" of "{a} and {b}". */
export type FactsIn<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | FactsIn<Rest> : never

/** One kind of alert. Texts have variables in braces, which the caller's facts fill. */
export interface CatalogueEntry {
  /** Word by which receivers sort alerts. */
  readonly kind: string
  /** "given": the caller's facts say it, since it depends on them. */
  readonly severity: Severity | "given"
  /** Identity of one alert: raised twice, it is sent once. */
  readonly id: string
  readonly subject: string
  readonly text: string
  /** The act or command that ends the cause, added to the text. */
  readonly remedy?: string
  /** The same for the runbook alone, where the text has it already. */
  readonly act?: string
  /** Facts that receivers get as data. */
  readonly fields: ReadonlyArray<string>
  /** When it is raised, and raised again. */
  readonly raised: string
  /** Raised again by its cause, with a text of its own: it is not repeated as it was. */
  readonly renews?: true
  /** Its end, in words; absent where `until` is a time, and for information without an end. */
  readonly ends?: string
  /** Fact of the store that ends it; absent where its cause raises `over`, and for information without an end. */
  readonly until?: Until
  /** Its all-clear. `id` is its own identity, `ends` what it resolves; absent: the identity of the alert. */
  readonly over?: { readonly text: string; readonly id?: string; readonly ends?: ReadonlyArray<string> }
}

/** Ends that the store shows: `payment`, `approval`, `signature` and `audit` are of the payment that it is about. */
export type Until = "halt" | "pause" | "rows" | "payment" | "approval" | "signature" | "audit" | keyof typeof factDays

/** Days after which an alert about something that happened once is over, if nobody acknowledged it before. */
export const factDays = { day: 1, week: 7 } as const

/** True if it is about something that happened once, so that only a person or time ends it. */
export const isFact = ({ until, over }: CatalogueEntry): boolean =>
  until === undefined ? over === undefined : until in factDays
