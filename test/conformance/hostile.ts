/** A bank and a connector that fail at random, in every way that settlement must survive. A seed decides. */
import { setTimeout as pause } from 'node:timers/promises'
import type { BankFault, Weather } from '../../examples/connector/bank.ts'
import type { BankNotification, Connector } from '../../service/src/rails/index.ts'
import type { Random } from '../support/random.ts'

export type Storm = {
  readonly random: Random
  /** Ends every fault. */
  isOver: boolean
  /** Counts each fault. */
  readonly counts: Map<string, number>
}

function strike({ random, isOver, counts }: Storm, name: string, probability: number): boolean {
  if (isOver || !random.chance(probability)) return false
  counts.set(name, (counts.get(name) ?? 0) + 1)
  return true
}

const bankFaults: readonly [BankFault, number][] = [
  // The bank received the call, forgets it and does not answer.
  ['lose call', 0.06],
  ['lose answer', 0.06],
  ['lose half', 0.06],
  ['error before', 0.04],
  ['error after', 0.04],
  ['hang', 0.02],
]

/** Faults at the other end of the HTTP connection. */
export const stormyWeather = (storm: Storm): Weather => ({
  fault: () => bankFaults.find(([name, probability]) => strike(storm, name, probability))?.[0],
})

const delayMsMax = 10

/** Ends the step of a worker like a crash: nothing after the call runs. */
export class WorkerDeath extends Error {}

/** Faults of the service: a worker that dies during a call, partly lost answers, notifications out of order. */
export function hostile(connector: Connector, storm: Storm): Connector {
  const { random } = storm
  const struck = (name: string, probability: number) => strike(storm, name, probability)
  const past: BankNotification[] = []
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    if (struck('died before', 0.04)) throw new WorkerDeath()
    if (struck('delay', 0.2)) await pause(random.number(delayMsMax))
    const answer = await call()
    if (struck('died after', 0.04)) throw new WorkerDeath()
    return answer
  }
  return {
    ...connector,
    instruct: async (instructions, options) => {
      const outcomes = await around(() => connector.instruct(instructions, options))
      if (!struck('half answer', 0.15)) return outcomes
      return outcomes.map((outcome) => (random.chance(0.5) ? 'unknown' : outcome))
    },
    find: (keys, options) => around(() => connector.find(keys, options)),
    notifications: async (max, options) => {
      let read = await around(() => connector.notifications(max, options))
      if (struck('late', 0.3)) read = read.filter(() => random.chance(0.5))
      if (struck('duplicate', 0.3)) read = [...read, ...read.filter(() => random.chance(0.5))]
      // Long after it was acknowledged.
      if (struck('repetition', 0.3)) read = [...past.filter(() => random.chance(0.2)), ...read]
      if (struck('disorder', 0.3)) read = random.shuffled(read)
      return read
    },
    acknowledge: async (notifications, options) => {
      await around(() => connector.acknowledge(notifications, options))
      past.push(...notifications)
    },
  }
}
