import { assert, describe, it } from "@effect/vitest"
import { addressOf, checksummed } from "../../src/tx/Address.ts"

/** The examples of EIP-55 itself. */
const examples = [
  "0x52908400098527886E0F7030069857D2E4169EE7",
  "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
  "0xde709f2102306220921060314715629080e2fb77",
  "0x27b1fdb04752bbc536007a920d24acb045561c26",
  "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
  "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]

describe("an address outside of the network", () => {
  it("has one form, whose capitals are its checksum", () => {
    for (const example of examples) {
      assert.strictEqual(addressOf(example), example)
      const digits = example.slice(2)
      assert.strictEqual(addressOf(`0x${digits.toLowerCase()}`), example)
      assert.strictEqual(addressOf(`0x${digits.toUpperCase()}`), example)
      assert.strictEqual(checksummed(`0x${digits.toLowerCase()}`), example)
    }
  })

  it("is none where its own capitals say that it was mistyped", () => {
    for (const example of examples.slice(4)) {
      const at = example.search(/[a-f]/)
      const wrong = example.slice(0, at) + example[at]!.toUpperCase() + example.slice(at + 1)
      assert.strictEqual(addressOf(wrong), undefined, wrong)
      assert.strictEqual(addressOf(example.replace(/[0-9](?=[0-9a-fA-F]*$)/, "z")), undefined)
    }
  })

  it("is none of another length, prefix or alphabet", () => {
    const [, , one = ""] = examples
    for (const text of ["", "0x", one.slice(2), one.slice(0, -1), `${one}0`, ` ${one}`, `0X${one.slice(2)}`]) {
      assert.strictEqual(addressOf(text), undefined, text)
      assert.strictEqual<string>(checksummed(text), text)
    }
  })
})
