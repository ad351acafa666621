/** File in the ledger's directory with the address of the network that runs there, for commands without --url. */
export const urlFile = "url"
