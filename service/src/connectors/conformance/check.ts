import type { Context } from './context.ts'
import type { Ability } from './harness.ts'

export type Check = {
  /** What holds. */
  readonly title: string
  /** What the bank must be made to do. */
  readonly needs: readonly Ability[]
  /** Throws if it does not hold. */
  readonly run: (context: Context) => Promise<void>
}
