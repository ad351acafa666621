/** Milliseconds that the refusal of an address's first wrong token waits; each further one waits twice as long. */
const firstMillis = 250
const longestMillis = 30_000
/** After this long without another one an address begins anew. */
const forgottenMillis = 600_000
const addressesMax = 1_000

/** The wrong tokens of each address: a refusal is to come ever later, and is nobody else's business. */
interface WrongTokens {
  /** Notes one, and says how many milliseconds its refusal waits. Time in Unix milliseconds. */
  readonly note: (address: string, now: number) => number
}

/** An IPv6 address stands for its network of 64 bits: who has one address there has all of them. */
const networkOf = (address: string): string => {
  const bare = address.replace(/^::ffff:/, "")
  if (!bare.includes(":")) return bare
  const [front = "", back] = bare.split("::")
  const head = front === "" ? [] : front.split(":")
  const tail = back === undefined || back === "" ? [] : back.split(":")
  const groups = back === undefined ? head : [...head, ...new Array(8 - head.length - tail.length).fill("0"), ...tail]
  return groups.slice(0, 4).join(":")
}

/** Remembers the last thousand addresses, in memory. */
export const makeWrongTokens = (): WrongTokens => {
  const known = new Map<string, { readonly count: number; readonly at: number }>()
  return {
    note: (address, now) => {
      const network = networkOf(address)
      const before = known.get(network)
      const isRecent = before !== undefined && Math.abs(now - before.at) < forgottenMillis
      const count = isRecent ? before.count + 1 : 1
      known.delete(network)
      known.set(network, { count, at: now })
      const [oldest] = known.keys()
      if (known.size > addressesMax && oldest !== undefined) known.delete(oldest)
      return Math.min(longestMillis, firstMillis * 2 ** Math.min(count - 1, 20))
    },
  }
}
