/** Keys that a file may still hold, by the map that held them, and what takes their place. */
const removed: Readonly<Record<string, string>> = {
  "network.head": "remove it: a head may be 10 blocks ahead of the last one, and 20 for each second since",
  "network.streams": "remove it: the gateways are asked each second while money moves or is about to",
  "network.submitType": "remove it: networks always wait for the check of the mempool, and nothing else is asked for",
  "network.work": "remove it: legal are windows of 5 to 500 blocks and what this machine solves in them",
  "policy.cancel": "remove it: nothing is cancelled; whoever holds the key ends a recurring transfer",
  "rules.cancel": "remove the rule: whoever holds the key ends a recurring transfer",
  "sandbox.trading": "remove it: there are no markets to trade on",
  "sandbox.faults.difficulty": "write powChanges: [{ block: 5, difficulty: 18 }] instead",
}

/** What replaces a key that is no more; undefined of any other. `path` is that of its map. */
export const replacementOf = (path: ReadonlyArray<PropertyKey>, key: string): string | undefined => {
  const way = path
    .filter((step) => typeof step === "string")
    .concat(key)
    .join(".")
  return Object.hasOwn(removed, way) ? removed[way] : undefined
}
