/** Dependencies of the simulations. */
import type { Access } from '../../access/index.ts'
import { Refusal } from '../../api/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import { type Clock, type Currency, isFiat } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { BankSimulator, ChainSimulator } from '../../rails/index.ts'
import type { Rates } from '../../rates/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Checkout } from '../checkout/index.ts'
import type { Deposits } from '../deposits/index.ts'
import type { Payouts } from '../payouts/index.ts'
import type { Wallets } from '../wallets/index.ts'

export type SimulationsDeps = {
  readonly bank: BankSimulator
  readonly checkout: Pick<Checkout, 'simulate'>
  /** Undefined outside a sandbox. */
  readonly simulatedChain: ChainSimulator | undefined
  readonly wallets: Pick<Wallets, 'get'>
  readonly deposits: Deposits
  readonly payouts: Payouts
  readonly rates: Pick<Rates, 'setByHand'>
  readonly access: Pick<Access, 'credentialOf' | 'partnerName'>
  readonly accounts: Pick<Accounts, 'ownersOf'>
  readonly eventOutbox: EventOutbox
  readonly db: Database
  readonly clock: Clock
  readonly windowSeconds: number
  /** The public URL of the API, which some clients sign. */
  readonly publicUrl: string
}

/** Refuses: currency_not_supported. */
export function requireSandboxCurrency(currency: Currency): void {
  if (!isFiat(currency)) throw new Refusal('currency_not_supported', `The sandbox bank holds no ${currency}.`)
}
