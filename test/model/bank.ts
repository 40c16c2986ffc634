/** A bank connection that can be made to break, at the moments at which real ones do. */
import { Unreachable } from '../../service/src/api/index.ts'
import type { Rail } from '../../service/src/rails/index.ts'

export const faults = ['unreachable', 'answer lost', 'died before', 'died after', 'died before acknowledging'] as const
export type Fault = (typeof faults)[number]

const away = () => new Unreachable('downstream_timeout', 'the connection broke')
/** What ends a worker's step as its death would: nothing after it is done. */
const death = () => new Error('the worker died')

/** `arm` makes the next call break. */
export function createFrailRail() {
  const armed: Fault[] = []
  const strikes = (...kinds: readonly Fault[]) => {
    const at = armed.findIndex((fault) => kinds.includes(fault))
    return at === -1 ? undefined : armed.splice(at, 1)[0]
  }
  const wrapRail = (rail: Rail): Rail => ({
    ...rail,
    instruct: async (instruction) => {
      const fault = strikes('unreachable', 'answer lost', 'died before', 'died after')
      if (fault === 'unreachable') throw away()
      if (fault === 'died before') throw death()
      const acknowledgement = await rail.instruct(instruction)
      if (fault === 'answer lost') throw away()
      if (fault === 'died after') throw death()
      return acknowledgement
    },
    acknowledge: async (notifications) => {
      if (strikes('died before acknowledging')) throw death()
      await rail.acknowledge(notifications)
    },
  })
  return { wrapRail, arm: (fault: Fault) => void armed.push(fault), disarm: () => void armed.splice(0) }
}
