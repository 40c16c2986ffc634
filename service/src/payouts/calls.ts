/** The calls of a batch of payouts, their keys in maps, and their answers. */
import type { PayoutOperation } from './rules.ts'
import type { AccountType, PayeeAddress, Rail, WithdrawalOutcome } from '@partner-payments/wire'
import { type Caller, type OpenNonce, Refusal } from '../kernel/api/index.ts'
import { type Currency, type Minor, partnerKey } from '../kernel/index.ts'
import type { EntryRequest } from '../ledger/index.ts'
import { type ChooseConnector, type Instruction, internalConnectorId, railOf } from '../rails/index.ts'
import { exchangeTransfers, type OpenQuote } from '../fx/index.ts'
import { debitedCurrency } from './controls/index.ts'
import type { PayoutRow } from './store.ts'

export type Creditor = {
  readonly name: string
  /** An IBAN, or the address of a wallet. */
  readonly account: string
  readonly bic: string | null
  readonly country: string
  /** The type of an American account. Absent: it is not known. */
  readonly accountType?: AccountType | null
  /** Null: the beneficiary has none. Absent: there is no beneficiary that could have one. */
  readonly address?: PayeeAddress | null
}

/** The address as an instruction has it. */
export const addressOf = ({ address }: Pick<Creditor, 'address'>): Pick<Instruction, 'creditorAddress'> =>
  address === undefined ? {} : { creditorAddress: address }

export type PayoutCall = {
  readonly caller: Caller
  readonly nonce: OpenNonce | undefined
  readonly operation: PayoutOperation
  readonly idempotencyKey: string | null
  readonly requestFingerprint: string
  readonly amount: Minor
  readonly currency: Currency
  readonly reference: string | null
  /** The end-to-end id that the partner gave in a pain.001. Undefined: it gave none, and ours is sent. */
  readonly endToEndId?: string | undefined
  readonly ip: string
  /** `onDuplicate` is `Refuse`. Absent: a repetition is made. */
  readonly refusesDuplicates?: boolean
  /** Text for colleagues. Absent: none. */
  readonly note?: string
  /** The bulk that the payout is in, its sum in the currency, and its sums in all. Undefined: it is in none. */
  readonly bulk?: {
    readonly id: string
    readonly sum: Minor
    readonly sums: readonly { readonly currency: Currency; readonly amount: Minor }[]
  }
  /** The exchange that buys the amount. Undefined: the amount leaves the balance in its own currency. */
  readonly quote?: OpenQuote
  /** Reference of the transaction whose money the payout sends back. Undefined: of none. */
  readonly originatingReference?: string
  /** A registered beneficiary, or the creditor of a refund or of a simulated withdrawal of a customer. */
  readonly payee:
    | { readonly beneficiaryId: string }
    | { readonly customerId: string; readonly creditor: Creditor; readonly outcome?: WithdrawalOutcome }
}

/**
 * `resubmit`: an earlier call of the batch had the same idempotency key and was refused. The key is free, so that this
 * call must be submitted again.
 */
export type Accepted = { readonly payout: PayoutRow; readonly replayed: boolean } | 'resubmit'
export type Outcome = Accepted | Refusal

/** The refusal that `work` throws becomes its result, so that the other calls of the batch continue. */
export function outcomeOf<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

type IdempotencyKey = Pick<PayoutRow, 'partnerId' | 'operation' | 'idempotencyKey'>

/** Undefined without an idempotency key. */
export const idempotencyMapKey = ({ partnerId, operation, idempotencyKey }: IdempotencyKey): string | undefined =>
  idempotencyKey === null ? undefined : partnerKey(partnerId, operation, idempotencyKey)

export const callMapKey = ({ caller, operation, idempotencyKey }: PayoutCall): string | undefined =>
  idempotencyMapKey({ partnerId: caller.partnerId, operation, idempotencyKey })

/** The key of a beneficiary, in any spelling of its UUID. */
export const beneficiaryMapKey = (partnerId: string, beneficiaryId: string): string =>
  partnerKey(partnerId, beneficiaryId.toLowerCase())

/** The rail of a payout, and the connector that carries it. Undefined: none does. */
export type Route = { readonly rail: Rail; readonly connector: string | undefined }

/** `account`: undefined if it is not known. `ownIbans`: those of the batch that this service has issued. */
export function routeOf(
  { caller: { partnerId }, currency }: PayoutCall,
  account: Omit<Creditor, 'name'> | undefined,
  choose: ChooseConnector,
  ownIbans: ReadonlySet<string>,
): Route {
  const rail = railOf(currency, account)
  if (account !== undefined && ownIbans.has(account.account)) return { rail, connector: internalConnectorId }
  return { rail, connector: choose({ partnerId, currency, rail }) }
}

/**
 * A payout reserves its money on the way from the partner's balance to the settlement account of its connector, and its fee on
 * the way to the account `fees`, in one entry: both are posted, or both are released. The money and the fee are the customer's,
 * or those of the partner itself.
 */
export function reservesOf(
  call: PayoutCall,
  {
    customerId,
    connector,
    fee,
  }: { readonly customerId: string | null; readonly connector: string; readonly fee: Minor },
): EntryRequest['transfers'] {
  const { caller, amount, currency, quote } = call
  const { partnerId } = caller
  const partyId = customerId ?? partnerId
  const credit = `settlement.${connector}` as const
  const reserve = { partnerId, partyId, kind: 'reserve', currency: debitedCurrency(call), debit: 'balance' } as const
  return [
    ...(quote === undefined
      ? [{ ...reserve, currency, credit, amount }]
      : exchangeTransfers(quote, { kind: 'reserve', creditOfBuy: credit, partyId })),
    ...(fee === 0n ? [] : [{ ...reserve, credit: 'fees', amount: fee } as const]),
  ]
}
