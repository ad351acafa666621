import type { Dice } from "../support/Dice.ts"
import type { Told } from "../support/wire.ts"
import type { Lie } from "./Wire.ts"

type Json = Record<string, unknown>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** How often an answer is a lie. */
const share = 0.35

/** Changes every value of a key, wherever it stands. */
const alter = (value: unknown, key: string, change: (old: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((one) => alter(one, key, change))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === key ? change(inner) : alter(inner, key, change)]),
  )
}

const notFound = (told: Told): Told => ({
  ...told,
  status: 404,
  body: JSON.stringify({ code: 5, message: "NotFound error", details: [] }),
})

/** Whether a request is about what a liar lies about. */
export const isAbout = (
  what: "height" | "transfers" | "balances" | "submit",
  { method, path }: Parameters<Lie>[0],
): boolean => {
  if (what === "submit") return method === "POST"
  if (what === "height") return path === "/blockchain/height"
  return what === "transfers" ? /\/transfers?(\/|$)/.test(path) : /balance|accounts/.test(path)
}

/** A gateway that tells, of anything, what harms most: other heights, balances, codes, listings, ends of payments. */
export const hostileGateway = (dice: Dice, invent?: (transferId: string) => unknown): Lie => {
  const drawn = () => dice.next() < share
  const moved = (old: unknown, least: number, span: number) =>
    String(Math.max(1, Number(old) + least + dice.below(span)))
  return ({ method, path }, told) => {
    if (!drawn()) return told
    let json: unknown
    try {
      json = JSON.parse(told.body)
    } catch {
      return told
    }
    const say = (body: unknown, more: Partial<Told> = {}): Told => ({ ...told, ...more, body: JSON.stringify(body) })
    if (method === "POST") return say(lieOfSubmission(json, dice))
    if (path === "/blockchain/height") {
      const height = alter(json, "height", (old) => moved(old, -40, 140))
      return say(dice.next() < 0.2 ? alter(height, "spamPowNumberOfPastBlocks", () => 5 + dice.below(500)) : height)
    }
    const headers = drawn()
      ? {
          ...told.headers,
          "X-Block-Height": moved(told.headers["X-Block-Height"] ?? 1, -40, 140),
          "X-Block-Timestamp": moved(told.headers["X-Block-Timestamp"] ?? 1, -20_000_000_000, 40_000_000_000),
        }
      : told.headers
    const invented = told.status === 404 ? invent?.(path.slice("/api/v2/transfer/".length)) : undefined
    if (invented !== undefined) return say(invented, { status: 200, headers })
    if (path.startsWith("/api/v2/transfer/")) {
      if (drawn()) return notFound(told)
      const status = dice.pick(["STATUS_DONE", "STATUS_REJECTED", "STATUS_PENDING", "STATUS_CANCELLED"]) ?? ""
      return say(
        alter(json, "status", () => status),
        { headers },
      )
    }
    if (drawn())
      return say(
        alter(json, "edges", () => []),
        { headers },
      )
    return say(
      alter(json, "balance", (old) => String((BigInt(String(old)) * BigInt(dice.below(40))) / 10n)),
      { headers },
    )
  }
}

const lieOfSubmission = (json: unknown, dice: Dice): unknown => {
  if (!isRecord(json)) return json
  const code = dice.pick([0, 51, 60, 70, 80, 89, 4711]) ?? 0
  const text = dice.pick(["proof of work tid already used", "transaction too old", "nonce already used by party", ""])
  return { ...json, success: dice.next() < 0.5, code, data: text }
}
