/** Paths through a table of transitions. */
import assert from 'node:assert/strict'
import { type Lifecycle, type Transition, findTransition } from '../../service/src/lifecycle/index.ts'

type Step<Trigger> = { readonly trigger: Trigger; readonly row: Transition }

/** The shortest path from the request of a payment to a status, by triggers that imply nothing. Undefined: no path leads there. */
export function pathTo<Trigger extends string>(
  { transitions, triggers }: Lifecycle<string, Trigger>,
  status: string,
): readonly Step<Trigger>[] | undefined {
  const rows = Object.values(transitions).filter(({ on }) => on.length > 0)
  const stepOf = (row: Transition): Step<Trigger> => {
    const trigger = triggers.find((each) => each === row.on[0])
    assert.ok(trigger !== undefined)
    return { trigger, row }
  }
  let paths = rows.filter(({ from, on }) => from.length === 0 && on[0] === 'requested').map((row) => [stepOf(row)])
  for (let length = 0; length < rows.length; length += 1) {
    const found = paths.find((path) => path.at(-1)?.row.to === status)
    if (found) return found
    paths = paths.flatMap((path) =>
      rows.filter(({ from }) => from.includes(path.at(-1)?.row.to ?? '')).map((row) => [...path, stepOf(row)]),
    )
  }
  return undefined
}

/** The rows that a trigger makes in a status: those that it implies, and then its own. */
export function transitionsOn<Trigger extends string>(
  lifecycle: Lifecycle<string, Trigger>,
  status: string,
  trigger: NoInfer<Trigger>,
): readonly Transition[] {
  const found = findTransition(lifecycle, status, trigger)
  if (found === undefined) return []
  const { transition, implied } = found
  return implied ? [transition, ...transitionsOn(lifecycle, transition.to, trigger)] : [transition]
}

/** Whether rows lead from a status to another one, and add exactly these steps to the timeline. */
export function leads(
  { transitions }: Pick<Lifecycle, 'transitions'>,
  from: string | undefined,
  to: string,
  steps: readonly string[],
): boolean {
  if (from === to && steps.length === 0) return true
  return Object.values(transitions).some((row) => {
    const leaves = from === undefined ? row.from.length === 0 : row.from.includes(from)
    const isLoop = row.to === from && row.steps.length === 0
    if (!leaves || isLoop || row.steps.some((step, index) => step !== steps[index])) return false
    return leads({ transitions }, row.to, to, steps.slice(row.steps.length))
  })
}

/** The statuses that a `check` constraint of a table permits. */
export const statusesIn = (definition: string): readonly string[] =>
  [...definition.matchAll(/'(\w+)'::text/g)].map(([, status = '']) => status)
