const perSecond = 1_000_000_000n

/** Unix nanoseconds as the network's API prints times: RFC 3339 in UTC, fraction without zeros at its end. */
export const formatTime = (nanos: bigint): string => {
  const whole = new Date(Number(nanos / perSecond) * 1_000).toISOString().slice(0, 19)
  const fraction = (nanos % perSecond).toString().padStart(9, "0").replace(/0+$/, "")
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`
}

/** Reads RFC 3339 with at most nine places and "Z" or an offset; undefined for anything else. */
export const parseTime = (text: string): bigint | undefined => {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text)
  if (match === null) return undefined
  const millis = Date.parse(`${match[1]}${match[3]}`)
  if (Number.isNaN(millis)) return undefined
  return BigInt(millis) * 1_000_000n + BigInt((match[2] ?? "").padEnd(9, "0"))
}

/** The data node keeps block times in microseconds: everything finer is cut off. */
export const toMicros = (nanos: bigint): bigint => nanos - (nanos % 1_000n)
