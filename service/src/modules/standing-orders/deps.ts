/** The dependencies of standing orders. */
import type { Cursors } from '../../api/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Clock, Log } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { ChooseConnector } from '../../rails/index.ts'
import type { Beneficiaries } from '../beneficiaries/index.ts'
import type { Customers } from '../customers/index.ts'
import type { Payouts, PayoutsDeps } from '../payouts/index.ts'

export type StandingOrdersDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly beneficiaries: Pick<Beneficiaries, 'payeesByIds'>
  readonly customers: Pick<Customers, 'hold'>
  readonly payouts: Pick<Payouts, 'acceptance'>
  readonly chooseConnector: ChooseConnector
  readonly ownIbans: PayoutsDeps['ownIbans']
  readonly screening: Pick<PayoutsDeps['screening'], 'countries'>
  /** STANDING_ORDERS_MAX. */
  readonly ordersMax: number
}
