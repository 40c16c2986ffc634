/** The context of a demo chapter, and the functions by which it reports. */
import { ApiProblem, type Client } from '@partner-payments/sdk'
import type { Until } from '../until.ts'

export type Stage = {
  /** Signs as the partner of the chapter, which no other chapter uses. It has 1,000,000.00 in each of EUR, GBP and USD. */
  readonly client: Client
  readonly partnerId: string
  /** A further service account of the same partner: another person of its team. */
  readonly colleague: (name: string, permissions: string) => Promise<Client>
  /** Runs `npm run operator -- ...` on the data of the demo, and answers what it prints. */
  readonly operator: <T>(...words: readonly string[]) => Promise<T>
  /** One line of the story. */
  readonly say: (text: string) => void
  /** One line of the story and of the summary: what was shown, and whether it is what the chapter claims. */
  readonly show: (what: string, actual: string, expected: string) => void
  readonly until: Until
  /** Folder for files that the chapter writes. */
  readonly folder: string
}

export type Chapter = {
  /** Name of the chapter in `npm run demo -- --chapter NAME`. */
  readonly name: string
  readonly title: string
  readonly run: (stage: Stage) => Promise<void>
}

/** The refusal of a request in a line: status, code, and the place of the error in the body if it has one. */
export async function refusalOf(request: Promise<unknown>): Promise<string> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error
    return [error.status, error.code, ...error.errors.map(({ pointer }) => pointer)].join(' ')
  }
  return 'not refused'
}

export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is missing`)
  return value
}
