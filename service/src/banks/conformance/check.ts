import type { Context } from './context.ts'
import type { Ability } from './harness.ts'

export type Check = {
  /** The guarantee that is checked. */
  readonly title: string
  /** The abilities that the bank needs for the check. */
  readonly needs: readonly Ability[]
  /** Throws if it does not hold. */
  readonly run: (context: Context) => Promise<void>
}
