/** A bank connector whose next call a test can break, at the points where real connections break. */
import { Unreachable } from '../../service/src/kernel/api/index.ts'
import type { Connector } from '../../service/src/rails/index.ts'

export const faults = ['unreachable', 'answer lost', 'died before', 'died after', 'died before acknowledging'] as const
export type Fault = (typeof faults)[number]

const unreachable = () => new Unreachable('downstream_timeout', 'the connection broke')
/** Ends the step of a worker as a kill would: nothing after the call runs. */
const workerDeath = () => new Error('the worker died')

/** `arm` breaks the next call. */
export function createFaultyRail() {
  const armed: Fault[] = []
  const takeArmed = (...kinds: readonly Fault[]) => {
    const at = armed.findIndex((fault) => kinds.includes(fault))
    return at === -1 ? undefined : armed.splice(at, 1)[0]
  }
  const wrapConnector = (connector: Connector): Connector => ({
    ...connector,
    instruct: async (instructions, options) => {
      const fault = takeArmed('unreachable', 'answer lost', 'died before', 'died after')
      if (fault === 'unreachable') throw unreachable()
      if (fault === 'died before') throw workerDeath()
      const outcomes = await connector.instruct(instructions, options)
      if (fault === 'answer lost') throw unreachable()
      if (fault === 'died after') throw workerDeath()
      return outcomes
    },
    acknowledge: async (notifications) => {
      if (takeArmed('died before acknowledging')) throw workerDeath()
      await connector.acknowledge(notifications)
    },
  })
  return { wrapConnector, arm: (fault: Fault) => void armed.push(fault), disarm: () => void armed.splice(0) }
}
