import { createHash } from "node:crypto"

/** Parts of a treasury file that are hashed on their own, in metrics and in the journal. */
export const configParts = [
  "network",
  "assets",
  "parties",
  "addresses",
  "hours",
  "maintenance",
  "rules",
  "policy",
  "approvals",
  "alerts",
  "store",
  "daemon",
  "all",
] as const
type ConfigPart = (typeof configParts)[number]

/** The same values in other words, order of keys or files have the same text. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? ""

/** SHA-256 in hex over each part as written, whatever the files, their order and their comments. */
export const partHashes = (value: unknown): Readonly<Record<ConfigPart, string>> => {
  const parts = (value ?? {}) as Readonly<Record<string, unknown>>
  const hashOf = (part: ConfigPart): string =>
    createHash("sha256")
      .update(canonical(part === "all" ? parts : parts[part]))
      .digest("hex")
  return Object.fromEntries(configParts.map((part) => [part, hashOf(part)])) as Record<ConfigPart, string>
}

/** The first 48 bits of a hash: a number that a metric holds exactly. */
export const hashNumber = (hash: string): number => Number.parseInt(hash.slice(0, 12), 16)
