/** The context of each part of the full demo. */
import type { Client } from '@partner-payments/sdk'
import type { Print } from '../print.ts'
import type { Until } from '../until.ts'

export type Stage = {
  readonly client: Client
  readonly print: Print
  readonly until: Until
  readonly dataDir: string
  /** Runs `npm run operator -- ...` on the data of the demo, and answers what it prints. */
  readonly operator: (...words: readonly string[]) => Promise<unknown>
}
