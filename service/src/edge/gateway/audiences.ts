/** The authentication of each audience: a form of the gateway has one for each audience that it serves. */
import type { Audience } from '@partner-payments/wire'
import { assert } from '../../kernel/index.ts'

export type Audiences<T> = Readonly<Partial<Record<Audience, T>>>

/** Throws at the start if an operation has an audience without authentication. */
export function servingOf<T>(audiences: Audiences<T>, id: string, audience: Audience): T {
  const serving = audiences[audience]
  assert(serving !== undefined, `the operation ${id} has an audience that the gateway authenticates: ${audience}`)
  return serving
}
