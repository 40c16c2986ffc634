/** Dependencies of monitors. */
import type { Cursors } from '../../kernel/api/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import { after, type Clock, type Log } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import { type Database, oldestTransactionStart, type Tx } from '../../postgres/index.ts'
import type { MembersByAddress } from './mail.ts'

export type MonitorsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly eventOutbox: Pick<EventOutbox, 'appendMany'>
  readonly ledger: Pick<Ledger, 'balances' | 'balancesAt' | 'movementsBehind' | 'standings'>
  readonly mail: Pick<MailQueue, 'enqueue'>
  /** The members of a partner's team among some addresses, by the address as given. */
  readonly membersByAddress: MembersByAddress
  /** REPORT_CLOCK_DIFFERENCE_MS: between the clocks of the processes, which make the ids, and that of the database. */
  readonly clockDifferenceMsMax: number
  /** Tests set smaller ones. */
  readonly limits?: MonitorLimits
}

export type MonitorLimits = {
  /** Balances that one look reads without a lock, in one statement. */
  readonly balancesPerLookMax: number
  /** Balances that one transaction judges. */
  readonly balancesPerBatchMax: number
  /** Transfers that one transaction reads: in about 20 ms. */
  readonly transfersPerBatchMax: number
  /** Limit for one balance in one transaction. Each crossing is a row, an event and mails. */
  readonly crossingsPerBalanceMax: number
}
export const limitsDefault: MonitorLimits = {
  balancesPerLookMax: 500,
  balancesPerBatchMax: 32,
  transfersPerBatchMax: 8_000,
  crossingsPerBalanceMax: 200,
}

/** All transfers before this time are visible to the next statement (README.md of the ledger). */
export const certainUntil = async (tx: Tx, { clockDifferenceMsMax }: Pick<MonitorsDeps, 'clockDifferenceMsMax'>) =>
  after(await oldestTransactionStart(tx), -clockDifferenceMsMax)
