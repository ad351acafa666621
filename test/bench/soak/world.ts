import { createHash } from "node:crypto"

export const chainId = "soak-1"
export const blockMillis = 250

const hex64 = (text: string): string => createHash("sha256").update(text).digest("hex")
const names = (word: string, count: number) => Array.from({ length: count }, (_, n) => hex64(`${word} ${n}`))

/** 2,500 accounts; each has a row in every block: 10,000 rows a second. */
export const parties = names("party", 50)
export const assets = names("asset", 10)
export const kinds = [
  { type: "ACCOUNT_TYPE_GENERAL", market: "" },
  { type: "ACCOUNT_TYPE_BOND", market: hex64("market 0") },
  { type: "ACCOUNT_TYPE_HOLDING", market: "" },
  ...names("market", 2).map((market) => ({ type: "ACCOUNT_TYPE_MARGIN", market })),
]

const rule = (n: number) => `  - name: fill-${n}
    topUp:
      from: p0
      levels:
${parties
  .slice(1)
  .map((_, i) => `        - { party: p${i + 1}, asset: A${n}, below: "1", target: "2" }`)
  .join("\n")}`

/** A treasury that watches them all, with a rule for each asset and a level for each party. */
export const treasuryText = (url: string): string => `version: 1
name: soak
mode: observe
network:
  chainId: ${chainId}
  gateways: { node: "${url}" }
  poll: { busy: 100ms, idle: 100ms }
assets:
${assets.map((id, n) => `  A${n}: { id: ${id}, decimals: 6 }`).join("\n")}
parties:
${parties.map((key, n) => `  p${n}: { publicKey: ${key}${n === 0 ? ", signer: { sandbox: p0 }" : ""} }`).join("\n")}
rules:
${[0, 1, 2].map(rule).join("\n")}
daemon: { listen: "127.0.0.1:0" }
`
