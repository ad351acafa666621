import { createHash } from "node:crypto"
import type { IntentId } from "../domain/Hex.ts"

/** What makes an intent the one it is. The rule's wording is no part of it, so a reload never pays an episode twice. */
interface IntentIdentity {
  readonly treasury: string
  readonly rule: string
  readonly subject: string
  readonly episode: number | string
}

/** SHA-256 over the four parts, unambiguously joined. */
export const intentIdOf = ({ treasury, rule, subject, episode }: IntentIdentity): IntentId =>
  createHash("sha256")
    .update(JSON.stringify([treasury, rule, subject, String(episode)]))
    .digest("hex") as IntentId
