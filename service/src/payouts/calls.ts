/** Calls of a batch of payouts, their map keys, and their results. */
import type { PayoutOperation } from './rules.ts'
import type { AccountType, PayeeAddress, Rail, WithdrawalOutcome } from '@partner-payments/wire'
import type { Caller, OpenNonce, Refusal } from '../kernel/api/index.ts'
import { type Currency, type Minor, partnerKey, type Money } from '../kernel/index.ts'
import type { EntryRequest } from '../ledger/index.ts'
import { type ChooseConnector, type Instruction, internalConnectorId, chooseRail } from '../rails/index.ts'
import { exchangeTransfers, type OpenQuote } from '../fx/index.ts'
import { debitedCurrency } from './controls/index.ts'
import type { PayoutRow } from './store.ts'

export type Creditor = {
  readonly name: string
  /** IBAN, or the address of a wallet. */
  readonly account: string
  readonly bic: string | null
  readonly country: string
  /** Type of an American account. Absent: unknown. */
  readonly accountType?: AccountType | null
  /** Null: the beneficiary has no address. Absent: the payout has no beneficiary. */
  readonly address?: PayeeAddress | null
}

/** Returns the address for an instruction. */
export const instructionAddress = ({ address }: Pick<Creditor, 'address'>): Pick<Instruction, 'creditorAddress'> =>
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
  /** End-to-end id from the partner's pain.001. Undefined: we send our own. */
  readonly endToEndId?: string | undefined
  readonly ip: string
  /** `onDuplicate` is `Refuse`. Absent: duplicates are accepted. */
  readonly refusesDuplicates?: boolean
  /** Text for colleagues. Absent: none. */
  readonly note?: string
  /** Bulk of the payout, with its sum in the currency and its sums in all currencies. Undefined: none. */
  readonly bulk?: {
    readonly id: string
    readonly sum: Minor
    readonly sums: readonly Money[]
  }
  /** Quote that buys the amount. Undefined: the amount leaves the balance in its own currency. */
  readonly quote?: OpenQuote
  /** Reference of the transaction whose money the payout returns. Undefined: none. */
  readonly originatingReference?: string
  /** A registered beneficiary, or the creditor of a refund or of a customer's simulated withdrawal. */
  readonly payee:
    | { readonly beneficiaryId: string }
    | { readonly customerId: string; readonly creditor: Creditor; readonly outcome?: WithdrawalOutcome }
}

/**
 * `resubmit`: an earlier call of the batch with the same idempotency key was refused. The key is free: the caller must
 * submit this call again.
 */
export type AcceptResult = { readonly payout: PayoutRow; readonly replayed: boolean } | 'resubmit'
export type PayoutOutcome = AcceptResult | Refusal

type IdempotencyKey = Pick<PayoutRow, 'partnerId' | 'operation' | 'idempotencyKey'>

/** Returns the map key of an idempotency key. Undefined: the call has none. */
export const idempotencyMapKey = ({ partnerId, operation, idempotencyKey }: IdempotencyKey): string | undefined =>
  idempotencyKey === null ? undefined : partnerKey(partnerId, operation, idempotencyKey)

export const callMapKey = ({ caller, operation, idempotencyKey }: PayoutCall): string | undefined =>
  idempotencyMapKey({ partnerId: caller.partnerId, operation, idempotencyKey })

/** Returns the map key of a beneficiary, in any spelling of its UUID. */
export const beneficiaryMapKey = (partnerId: string, beneficiaryId: string): string =>
  partnerKey(partnerId, beneficiaryId.toLowerCase())

/** Rail of a payout and the connector that carries it. Undefined: no connector does. */
export type Route = { readonly rail: Rail; readonly connector: string | undefined }

/**
 * Chooses the rail and the connector. `account`: undefined if unknown. `ownIbans`: IBANs of the batch that this service
 * has issued.
 */
export function chooseRoute(
  { caller: { partnerId }, currency }: PayoutCall,
  account: Omit<Creditor, 'name'> | undefined,
  choose: ChooseConnector,
  ownIbans: ReadonlySet<string>,
): Route {
  const rail = chooseRail(currency, account)
  if (account !== undefined && ownIbans.has(account.account)) return { rail, connector: internalConnectorId }
  return { rail, connector: choose({ partnerId, currency, rail }) }
}

/**
 * Returns the transfers that reserve a payout: its money goes to the settlement account of its connector, its fee to
 * the account `fees`, in one entry. Both are posted, or both are released. Money and fee belong to the customer, or to
 * the partner itself.
 */
export function reserveTransfers(
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
