import { isPaying } from "../Rule.ts"
import { type Finding, gravity, type RuleSet } from "./Finding.ts"

/** Rules that forbid each other, so that none of them acts once all of them have a need. Each circle is told once. */
export const inhibition = ({ rules }: RuleSet): ReadonlyArray<Finding> => {
  const paying = new Map(rules.filter(isPaying).map((rule) => [rule.name, rule]))
  const done = new Set<string>()
  return rules.flatMap((rule, i): ReadonlyArray<Finding> => {
    if (!isPaying(rule) || done.has(rule.name)) return []
    const circle = wayBack(rule.name, (name) => paying.get(name)?.inhibitedBy ?? [])
    if (circle === undefined) return []
    for (const name of circle) done.add(name)
    const members = circle.flatMap((name) => paying.get(name) ?? [])
    return [
      {
        lint: "inhibition",
        severity: gravity(...members),
        path: ["rules", i, "inhibitedBy"],
        message: `rules forbid each other in a circle, ${[...circle, rule.name].join(" by ")}: with all of them in need none acts`,
        remedy: `remove inhibitedBy from one of ${circle.join(", ")}`,
      },
    ]
  })
}

/** The shortest circle through a node, as the nodes on it; undefined where none leads back to it. */
export const wayBack = (start: string, next: (name: string) => Iterable<string>): ReadonlyArray<string> | undefined => {
  const from = new Map<string, string>()
  const queue = [start]
  for (const name of queue) {
    for (const other of next(name)) {
      if (other === start) {
        const circle = [name]
        while (circle[0] !== start) circle.unshift(from.get(circle[0]!)!)
        return circle
      }
      if (from.has(other)) continue
      from.set(other, name)
      queue.push(other)
    }
  }
  return undefined
}
