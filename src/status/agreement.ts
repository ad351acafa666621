/**
 * Who must agree to a verb. "operators": two of those in force, or the only one; nobody where the treasury names none.
 * "what is weaker": the operators as well, but only to what permits more than before; without operators it is asked for
 * by name (`--allow-weaker`). "the policy": its limits, and the groups that its lines name, as for every payment.
 */
export type Agrees = "nobody" | "operators" | "what is weaker" | "the policy"

interface Agreed {
  readonly agrees: Agrees
  /** What it does to money, as a reason. */
  readonly why: string
}

const looks: Agreed = { agrees: "nobody", why: "it moves no money" }
const stops: Agreed = { agrees: "nobody", why: "it stops money" }

/** Every verb of the socket, by its path below /api/v1 with * for an id. A verb that is not here is not served. */
export const agreements = {
  halt: stops,
  pause: stops,
  "intents/*/cancel": stops,
  "intents/*/reject": stops,
  "intents/*/abandon": { agrees: "nobody", why: "it ends a payment that is proven never executed" },
  resume: { agrees: "operators", why: "it ends halts, and stops that the machine made; pauses of people end alone" },
  adopt: { agrees: "operators", why: "it ends the halt for payments made elsewhere" },
  recover: { agrees: "operators", why: "it ends the halt of a restored store" },
  "balances/rebase": { agrees: "operators", why: "rules pay by the balances that it takes" },
  "intents/*/resolve": { agrees: "operators", why: "what is called never executed is decided and paid anew" },
  reload: { agrees: "what is weaker", why: "terms bound the money" },
  "terms/accept": {
    agrees: "what is weaker",
    why: "the same at a start; without them it takes an hour, and any halt ends it",
  },
  submit: { agrees: "the policy", why: "it is a payment" },
  "intents/*/approve": { agrees: "nobody", why: "it is an operator's own signature" },
  "terms/approve": { agrees: "nobody", why: "it is an operator's own signature" },
  plan: looks,
  backfill: looks,
  reconcile: looks,
} as const satisfies Readonly<Record<string, Agreed>>

export type VerbName = keyof typeof agreements

/** The row of a path of the socket; undefined where it is no verb. */
export const agreementFor = (path: string): Agreed | undefined => {
  const verb = path.replace(/^\/api\/v1\//, "").replace(/^intents\/[^/]+\//, "intents/*/")
  return Object.hasOwn(agreements, verb) ? agreements[verb as VerbName] : undefined
}

/** Beginnings of the scopes that the machine itself stops: it takes operators to end them, as it does for halts. */
const machineScopes = ["pin:", "lock:"] as const

export const isMachineStop = (scope: string): boolean => machineScopes.some((prefix) => scope.startsWith(prefix))
