import { Effect } from "effect"
import type { IntentCommand } from "../domain/Intent.ts"
import { Confirmation } from "../gateway/Confirmation.ts"

/** What the gateways list together of a key's payments of a kind; undefined where none lists them. */
export const listingOf = (command: IntentCommand, party: string) =>
  Effect.flatMap(Confirmation, ({ transfersFrom, withdrawalsFrom }) =>
    (command === "withdraw" ? withdrawalsFrom : transfersFrom)(party),
  ).pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
