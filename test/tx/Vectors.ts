import { readFileSync } from "node:fs"

/** The vectors as they lie in the file; 64-bit numbers are text. */
export interface Vectors {
  readonly pow: ReadonlyArray<{
    readonly blockHash: string
    readonly tid: string
    readonly nonce: string
    readonly difficulty: number
    readonly leadingZeros: number
    readonly hash: string
    readonly firstNonce: boolean | null
  }>
  readonly sha3_256: ReadonlyArray<{ readonly utf8: string; readonly hex: string }>
  readonly signTreeTx: {
    readonly inputDataHex: string
    readonly pubKey: string
    readonly signature: string
    readonly txHashWithoutPow: string
  }
  readonly signMessages: ReadonlyArray<{
    readonly seedHex: string
    readonly pub: string
    readonly utf8: string
    readonly chainId: string | null
    readonly sig: string
  }>
  readonly computed: {
    readonly chainId: string
    readonly blockHash: string
    readonly blockHeight: string
    readonly pubKey: string
    readonly tid: string
    readonly powNonce: string
    readonly cases: Readonly<
      Record<
        "transfer_oneoff" | "transfer_oneoff_deliver" | "transfer_recurring" | "cancel_transfer" | "withdraw",
        {
          readonly inputDataHex: string
          readonly inputDataB64: string
          readonly digest: string
          readonly sig: string
          readonly txHex: string
          readonly txHash: string
          readonly id: string
        }
      >
    >
  }
}

export const vectorsFile = new URL("../vectors/write-path.json", import.meta.url)

export const vectors: Vectors = JSON.parse(readFileSync(vectorsFile, "utf8"))

export const fromHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"))
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
