/** What the switched source asks: which mutant is made, and what was reached. */
export interface Switch {
  /** Number of the mutant that is made; 0 for none. */
  on: number
  /** What each guard that was reached has been: 1 true, 2 false, 3 both. A statement counts as true. */
  readonly reached: Map<number, number>
  readonly condition: (number: number, value: unknown) => unknown
  readonly isOn: (number: number) => boolean
}

const known = globalThis as { coffererMutants?: Switch }

const make = (): Switch => {
  const reached = new Map<number, number>()
  const note = (number: number, was: number) => reached.set(number, (reached.get(number) ?? 0) | was)
  const self: Switch = {
    on: 0,
    reached,
    condition: (number, value) => {
      note(number, value ? 1 : 2)
      return self.on === number ? !value : value
    },
    isOn: (number) => {
      note(number, 1)
      return self.on === number
    },
  }
  return self
}

const made = known.coffererMutants ?? make()
known.coffererMutants = made

/** The one switch of this process, which the switched source finds under its global name. */
export const mutantSwitch: Switch = made
