import type { Effect } from "effect"
import type { intentView } from "./stories.ts"
import type { acceptedView, accountViews, alertView, gatewayViews, pastView, paymentView, RuleView } from "./views.ts"

/** Content of the page, the status command and the API. Amounts are decimal text; `units` are base units as digits. */
export interface View extends Effect.Success<ReturnType<typeof pastView>> {
  readonly treasury: string
  readonly mode: string
  readonly version: string
  readonly network: {
    readonly chainId: string
    /** How many gateways must agree before money moves. */
    readonly quorum: number
    readonly gateways: ReadonlyArray<GatewayView>
  }
  /** The headline: the worst of the conditions, or that all is well. */
  readonly sentence: { readonly severity: "ok" | "warn" | "bad"; readonly text: string }
  /** Everything that keeps the treasury from being healthy, the worst first. */
  readonly conditions: ReadonlyArray<ConditionView>
  readonly height: string
  /** Seconds since the newest known block; null before the first reading, and while the clock may be wrong. */
  readonly ageSeconds: number | null
  readonly accounts: ReadonlyArray<AccountView>
  readonly rules: ReadonlyArray<RuleView>
  readonly intents: ReadonlyArray<IntentView>
  readonly policy: ReadonlyArray<ReturnType<typeof paymentView>>
  readonly acceptance: { readonly accepted: number; readonly refused: number; readonly lost: number }
  /** Since when and why the network's work parameters prevent signing; null while they are valid. */
  readonly work: { readonly since: string; readonly detail: string; readonly remedy: string } | null
  /** Since when and why balances cannot be compared with the gateway's own; null until that lasts for five minutes. */
  readonly uncompared: { readonly since: string; readonly detail: string } | null
  /** Since when and why no newest block is plausible, and the remedy; null while one is. */
  readonly doubted: { readonly since: string; readonly detail: string; readonly remedy: string } | null
  readonly accepted: Effect.Success<ReturnType<typeof acceptedView>>
  /** The newest alerts without their all-clears, the newest first. */
  readonly alerts: ReadonlyArray<AlertView>
  readonly alertsPending: number
  readonly halts: ReadonlyArray<{ readonly reason: string; readonly detail: string; readonly at: string }>
  readonly pauses: ReadonlyArray<{
    readonly scope: string
    readonly reason: string
    readonly author: string
    /** null: until someone resumes it. */
    readonly until: string | null
  }>
  /** Planned windows that are open, in which rules pay nothing. */
  readonly maintenance: ReadonlyArray<{ readonly name: string; readonly until: string }>
  readonly journal: { readonly seq: number; readonly head: string }
  readonly at: string
}

interface ConditionView {
  /** A value of the label `condition` of `cofferer_healthy`. */
  readonly condition: string
  /** For people. */
  readonly name: string
  /** bad: nothing is signed, or somebody must act now. warn: somebody must look at it. */
  readonly severity: "bad" | "warn"
  /** The fault, without a full stop. */
  readonly text: string
  /** The command or act that ends it. */
  readonly remedy: string
}

type AccountView = ReturnType<typeof accountViews>[number]
export type IntentView = Effect.Success<ReturnType<typeof intentView>>

export type GatewayView = ReturnType<typeof gatewayViews>[number]

export type AlertView = ReturnType<typeof alertView>

/** A condition that applies. */
export interface Found extends Omit<ConditionView, "condition" | "name"> {
  /** For people, where that of the condition would mislead. */
  readonly name?: string
  /** True if another part raises the alert for it, or for its cause. */
  readonly isAlerted?: boolean
  /** Accounts, rules, gateways or receivers that only this alerts to: one that joins is a new alert. */
  readonly parts?: ReadonlyArray<string>
  /** Parts that make it a page; each further one is a page of its own. */
  readonly pages?: ReadonlyArray<string>
  /** Receivers that cannot get its alert. All others get it, whatever their routes are. */
  readonly unreachable?: ReadonlyArray<string>
}

/** One of the treasuries of a process, as the list shows it. */
export interface TreasuryState {
  readonly name: string
  /** Its file or folder. */
  readonly file: string
  /** standby: another process runs it. */
  readonly state: "starting" | "running" | "standby" | "ended"
  readonly severity: View["sentence"]["severity"]
  readonly text: string
  /** When it came to this state and severity, ISO 8601; starting and ended count as one. */
  readonly since: string
}
