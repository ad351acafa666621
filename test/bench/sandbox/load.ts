import { hash, sign } from "node:crypto"
import { baseUnits } from "../../../src/domain/Amount.ts"
import { accountTypeNumbers } from "../../../src/domain/Balance.ts"
import { Command } from "../../../src/domain/Command.ts"
import { privateKeyOf, publicKeyOf } from "../../../src/sandbox/Keys.ts"
import { encodeInputData } from "../../../src/tx/InputData.ts"
import { leadingZeroBits, powPreimage } from "../../../src/tx/ProofOfWork.ts"
import { withChainPrefix } from "../../../src/tx/Transaction.ts"
import { signingKey } from "../../support/signingKey.ts"
import { fire, getShot, postShot, type Shot } from "./HttpLoad.ts"
import { asset, chainId, nameOf, partiesCount, seed } from "./scenario.ts"

/**
 * The generator, a process of its own: `load.ts PORT ROUNDS MILLIS`. Prints one line of JSON with good answers per
 * second, slice by slice, writes and reads in turn.
 */
const [port = 0, rounds = 0, millis = 0] = process.argv.slice(2).map(Number)
const connections = 32
/** More transactions than a slice can take. */
const mostPerSecond = 6_000
const windowRows = 20
const url = `http://127.0.0.1:${port}`

const sha3 = (bytes: Uint8Array): Buffer => hash("sha3-256", bytes, "buffer")
const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL
const parties = Array.from({ length: partiesCount }, (_, n) => {
  const name = nameOf(n)
  return { publicKey: publicKeyOf(seed, name), key: signingKey(privateKeyOf(seed, name)) }
})

let count = 0

/** A payment of one unit from each party in turn to the next, signed and with its work. */
const payment = (head: { readonly height: number; readonly hash: string }): string => {
  const n = ++count
  const from = parties[n % partiesCount]!
  const command = Command.cases.Transfer.make({
    fromAccountType: general,
    to: parties[(n + 1) % partiesCount]!.publicKey,
    toAccountType: general,
    asset,
    amount: baseUnits(1n),
    reference: "",
    kind: { _tag: "OneOff", deliverOn: 0n },
  })
  const inputData = encodeInputData({ nonce: BigInt(n), blockHeight: BigInt(head.height), command })
  const signature = sign(null, sha3(withChainPrefix(chainId, inputData)), from.key).toString("hex")
  const tid = sha3(Buffer.from(`tid ${n}`)).toString("hex")
  let nonce = 0n
  while (leadingZeroBits(sha3(powPreimage({ blockHash: head.hash, tid }, nonce))) < 1) nonce++
  const tx = {
    inputData: Buffer.from(inputData).toString("base64"),
    signature: { value: signature, algo: "vega/ed25519", version: 1 },
    pubKey: from.publicKey,
    version: "TX_VERSION_V3",
    pow: { tid, nonce: String(nonce) },
  }
  return JSON.stringify({ tx, type: "TYPE_SYNC" })
}

const isAccepted: Shot["accept"] = (status, body) => status === 200 && body.startsWith('{"success":true')
const isHeight: Shot["accept"] = (status, body) => status === 200 && body.startsWith('{"height":"')
/** Twenty rows, no fewer: an empty window costs nothing. */
const isWindow: Shot["accept"] = (status, body) =>
  status === 200 && body.startsWith('{"balances":') && body.split('"balance":').length === windowRows + 1

/** So many payments, each party's turn as often as any other's, as fast as they are taken. */
const pay = async (most: number) => {
  const head = (await (await fetch(`${url}/blockchain/height`)).json()) as { height: string; hash: string }
  const at = { height: Number(head.height), hash: head.hash }
  const shots = Array.from({ length: most }, () => postShot("/transaction", payment(at), isAccepted))
  return fire(port, { connections, millis, next: () => shots.pop() })
}

const writes = () => pay((mostPerSecond * millis) / 1000)

/** Gives every party the history that a full window needs. */
const warmUp = async () => {
  for (let n = 0; n < windowRows; n++) {
    await pay(partiesCount)
    await fetch(`${url}/sandbox/blocks`, { method: "POST", body: "{}" })
  }
}

const reads = () => {
  const since = (BigInt(Date.now()) - 3_600_000n) * 1_000_000n
  const range = `dateRange.startTimestamp=${since}&pagination.first=${windowRows}`
  const height = getShot("/blockchain/height", isHeight)
  const windows = parties.map(({ publicKey }) =>
    getShot(`/api/v2/balance/changes?filter.partyIds=${publicKey}&${range}`, isWindow),
  )
  let n = 0
  return fire(port, {
    connections,
    millis,
    next: () => {
      n++
      return n % 2 === 0 ? height : windows[(n >> 1) % windows.length]
    },
  })
}

await warmUp()
for (let round = 0; round < rounds; round++) {
  const wrote = await writes()
  const read = await reads()
  const found = {
    round,
    writes: wrote.perSecond,
    reads: read.perSecond,
    refused: wrote.refused + read.refused,
    example: wrote.example || read.example,
  }
  console.log(JSON.stringify(found))
}
