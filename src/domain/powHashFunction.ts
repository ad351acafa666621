/** The only hash function that networks name for the proof of work; it is SHA3-256. */
export const powHashFunction = "sha3_24_rounds"
