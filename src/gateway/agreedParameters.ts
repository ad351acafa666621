import type { Told } from "./Gateways.ts"

/**
 * The network's settings that a quorum names alike. One gateway alone would else say what the fee is that payments are
 * held to; a setting of which they say different things is not known.
 */
export const agreedParameters = (
  told: ReadonlyArray<Told<ReadonlyMap<string, string>>>,
  quorum: number,
): ReadonlyMap<string, string> => {
  const agreed = new Map<string, string>()
  for (const { value } of told) {
    for (const [key, text] of value) {
      if (told.filter((one) => one.value.get(key) === text).length >= quorum) agreed.set(key, text)
    }
  }
  return agreed
}
