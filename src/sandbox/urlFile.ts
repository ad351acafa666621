/** In the ledger's directory while a network runs there: its address, for commands that are given none. */
export const urlFile = "url"
