/** The examples of the OpenAPI document, recorded from a running service by `npm run generate -- --examples`. */
import { readFileSync } from 'node:fs'
import { type EventName, type OperationId, parseJsonExactly, type ProblemCode } from '@partner-payments/wire'

export type Examples = {
  readonly operations: Partial<
    Record<
      OperationId,
      {
        readonly request: { readonly target: string; readonly body?: unknown }
        readonly response: { readonly status: number; readonly location?: string; readonly body?: unknown }
      }
    >
  >
  readonly events: Partial<Record<EventName, unknown>>
  readonly problems: Partial<Record<ProblemCode, unknown>>
}

/** Amounts keep their digits. An operation that is new since the last recording has no example. */
export const recorded = parseJsonExactly(
  readFileSync(new URL('../../wire/examples.json', import.meta.url), 'utf8'),
) as Examples

/** The path parameters of a recorded request: `/v1/payouts/{id}` and `/v1/payouts/018f...` give `{ id: '018f...' }`. */
export function pathExamples(path: string, target: string): Readonly<Record<string, string>> {
  const [given = ''] = target.split('?')
  const values = given.split('/')
  return Object.fromEntries(
    path.split('/').flatMap((part, at) => (part.startsWith('{') ? [[part.slice(1, -1), values[at] ?? '']] : [])),
  )
}
