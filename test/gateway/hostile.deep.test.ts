import { assert } from "@effect/vitest"
import { layer } from "../support/it.ts"
import { live, startGateway } from "./GatewayServer.ts"
import { corpus } from "./hostile/corpus.ts"
import { judge } from "./hostile/judge.ts"

layer(live, { excludeTestServices: true })("bad answers over a real connection", (it) => {
  it.effect.each(Object.keys(corpus))(
    "gives a typed error or the exact value, and never throws: %s",
    function* (family) {
      const server = yield* startGateway(() => {})
      const problems: Array<string> = []
      const names = new Set<string>()
      for (const bad of corpus[family] ?? []) {
        server.handler = bad.send
        names.add(bad.name)
        const problem = yield* judge(bad, server.url)
        if (problem !== undefined) problems.push(problem)
      }
      assert.deepStrictEqual(problems, [])
      console.log(`${family}: ${names.size} bad answers`)
    },
  )

  it("holds at least a thousand", () => {
    const all = Object.values(corpus).flatMap((family) => family.map(({ ask, name }) => `${ask} ${name}`))
    assert.isAtLeast(new Set(all).size, 1_000)
    console.log(`${all.length} bad answers in all`)
  })
})
