/** Shared parts of the operations of a hostile day: its state, and the values that they draw from. */
import { rawNumber } from '@partner-payments/wire'
import type { SanctionsList } from '../../service/src/screening/index.ts'
import type { Service, TestPartner } from './composition.ts'
import { pick } from './generated-requests.ts'
import type { Random } from './screening/corpus.ts'
import { listedName } from './screening/held.ts'

type Customer = { readonly id: string; readonly iban: string }
export type Actor = {
  readonly partner: TestPartner
  readonly customers: Customer[]
  readonly payees: string[]
  readonly foreignPayees: string[]
  readonly payouts: string[]
  readonly credits: string[]
  readonly sessions: { readonly id: string; readonly creditorReference: string; readonly iban: string }[]
}
export type HostileDay = {
  readonly services: readonly [Service, Service]
  readonly actors: readonly Actor[]
  readonly random: Random
  readonly lists: readonly [SanctionsList, SanctionsList]
  /** The alerts under which persons have seen a payout wait, by its id. */
  readonly held: Map<string, Set<string>>
  /** Operations that may change what is known of payees: how many have begun, and how many run. */
  readonly changes: { begun: number; running: number }
  /** Answers of the scheme that have not come yet, with the step of the worker that waits for them. */
  readonly late: { readonly arrive: () => void; readonly ended: Promise<unknown> }[]
  /** How often each operation had an effect, and was refused. */
  readonly counts: Map<string, { done: number; refused: number }>
  /** Errors that are no refusals: a caller would get an answer of 500. */
  readonly faults: string[]
}

export const names = [
  'Grace Hopper',
  'Joan Clarke',
  'Jean Bartik',
  'Mary Kenneth Keller',
  listedName,
  listedName.toUpperCase(),
]
/** Several: a listed name holds every payment to its account. */
export const payeeAccounts = [
  'DE89370400440532013000',
  'FR1420041010050500013M02606',
  'NL91ABNA0417164300',
  'ES9121000418450200051332',
  'AT611904300234573201',
  'BE68539007547034',
] as const
export const fiat = ['EUR', 'GBP', 'USD'] as const
/** The cents select what the sandbox bank does (docs/sandbox.md). */
export const amounts = '1.00 7.00 49.90 120.00 4001.01 4001.02 4001.05 4001.07 0.01 900000.00'.split(' ')
export const note = 'Compared with the documents.'
export const staff = ['Sam Staff', 'Kim Staff', 'Ada Staff'] as const

export type Operation = (day: HostileDay, service: Service, actor: Actor) => Promise<unknown>
export const amountOf = ({ random }: HostileDay) => rawNumber(pick(random, amounts))
