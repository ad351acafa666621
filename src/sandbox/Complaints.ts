/** What is wrong with a transaction, by property; printed sorted, as the network does: "tx.version (is required)". */
export type Complaints = Map<string, Array<string>>

export const complain = (complaints: Complaints, property: string, text: string): void => {
  const texts = complaints.get(property)
  if (texts === undefined) complaints.set(property, [text])
  else texts.push(text)
}

export const printComplaints = (complaints: Complaints): string =>
  [...complaints]
    .map(([property, texts]) => `${property} (${texts.join(", ")})`)
    .sort()
    .join(", ")

/** Whether a text has the form of an id or a key: 64 hex characters of either case. */
export const isId = (text: string): boolean => /^[0-9a-fA-F]{64}$/.test(text)
