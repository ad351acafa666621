import { type LookupAddress, lookup as systemLookup } from "node:dns"
import { BlockList, type LookupFunction } from "node:net"

/** Addresses that no public service has: loopback, private and shared networks, and ways around through them. */
const notPublic = new BlockList()
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const) {
  notPublic.addSubnet(network, prefix, "ipv4")
}
for (const [network, prefix] of [
  ["::", 96], // unspecified, loopback, and addresses of IPv4 in the old form
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 9], // of a link, and of a site
  ["ff00::", 8],
] as const) {
  notPublic.addSubnet(network, prefix, "ipv6")
}

export const privateCode = "ERR_PRIVATE_ADDRESS"
export const privateWords = "its name has a private address, which allowPrivate: true permits"

/** The code of an error or of what caused it, such as ECONNREFUSED. Its message is not used: it may hold a secret. */
export const errorCodeOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  const code = Reflect.get(error, "code")
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{0,60}$/.test(code)) return code
  return errorCodeOf(Reflect.get(error, "reason")) ?? errorCodeOf(Reflect.get(error, "cause"))
}

/** How names are looked up: node:dns, or another in tests. */
export type Resolver = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<LookupAddress>) => void,
) => void

/**
 * Looks up names for connections, which use exactly the addresses that were checked. A name with any private address
 * fails with `privateCode`, unless it is permitted. An address that the configuration gives as numbers is not looked
 * up, so it may be private.
 */
export const publicOnly =
  (permitted: ReadonlySet<string>, resolve: Resolver = systemLookup): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const isRefused = ({ address, family }: LookupAddress) => notPublic.check(address, family === 6 ? "ipv6" : "ipv4")
      const [first] = addresses ?? []
      if (error !== null) return callback(error, [])
      if (first === undefined) return callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), [])
      if (!permitted.has(hostname) && addresses.some(isRefused)) {
        return callback(Object.assign(new Error("a private address"), { code: privateCode }), [])
      }
      if (options.all === true) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    })
  }
