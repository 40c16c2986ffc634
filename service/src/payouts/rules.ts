/**
 * Pure: the operations of payouts, the fingerprint of a request, rail, parties and types, the id of the instruction.
 */
import { hash } from 'node:crypto'
import type { PayeeAddress, payouts, TransactionType } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { currencies, type Currency, isFiat, type Minor, minuteMs, secondMs } from '../kernel/index.ts'
import { formatAddress, parseDomesticAccount } from '../rails/index.ts'
import type { Party } from '../transactions/index.ts'

export type PayoutStatus = (typeof payouts.payoutStatuses)[number]

/** Operations that accept payouts. Each has its own idempotency keys. */
export const payoutOperations = [
  'createFiatPayout',
  'createFxPayout',
  'createTokenPayout',
  // Creates the payouts of an order, under a key of its date.
  'createStandingOrder',
  // Refunds a checkout session to the account that paid.
  'createCheckoutRefund',
  'simulateWithdrawal',
] as const
export type PayoutOperation = (typeof payoutOperations)[number]
export const isPayoutOperation = (operation: string): operation is PayoutOperation =>
  payoutOperations.some((each) => each === operation)

/** Returns the stored problem of a refused payout of a bulk or a standing order. */
export const toProblem = ({ code, detail }: Refusal) => ({ problemCode: code, problemDetail: detail })

/** Returns the same text for requests of the same payout: `100` and `100.00` are one amount. */
export function payoutFingerprint(request: {
  readonly amount: Minor
  readonly currency: Currency
  readonly beneficiaryId?: string
  readonly customerId?: string
  readonly reference?: string | null
  readonly outcome?: string
  readonly endToEndId?: string | null
}): string {
  const { amount, currency, beneficiaryId, customerId, reference, outcome, endToEndId } = request
  const all = [amount.toString(), currency, beneficiaryId?.toLowerCase(), customerId, reference, outcome]
  // Requests without an end-to-end id keep the text that earlier versions stored.
  return JSON.stringify(typeof endToEndId === 'string' ? [...all, endToEndId] : all)
}

/** Returns the same text for requests that pay the same beneficiary by the same quote. */
export const fxFingerprint = (request: {
  readonly quoteId: string
  readonly beneficiaryId: string
  readonly reference: string | null
}): string => JSON.stringify([request.quoteId.toLowerCase(), request.beneficiaryId.toLowerCase(), request.reference])

/** Checks that an operation supports a currency: tokens have their own operation. Refuses: currency_not_supported. */
export function requireSupportedCurrency(operation: PayoutOperation, currency: Currency, pointer = '/currency'): void {
  const isPaid = (code: string) => isFiat(code) === (operation !== 'createTokenPayout')
  if (isPaid(currency)) return
  const message = `must be one of ${Object.keys(currencies).filter(isPaid).join(', ')}`
  throw new Refusal('currency_not_supported', `This operation does not support ${currency}.`, {
    errors: [{ pointer, code: 'invalid_value', message }],
  })
}

/** CLDR code of an unknown region: a wallet has no country. */
export const unknownCountry = 'ZZ'

/** Maps the creditor to a party of a transaction. */
export function creditorParty(creditor: {
  readonly name: string
  readonly account: string
  readonly bic: string | null
  readonly country: string
  readonly address?: PayeeAddress | null
  readonly currency: Currency
}): Party {
  const { name, account, bic, country, address, currency } = creditor
  return {
    accountHolderName: name,
    ...(isFiat(currency) ? bankAccountOf(account) : { walletAddress: account }),
    ...(country === unknownCountry ? {} : { country }),
    ...(bic === null ? {} : { bic }),
    ...(address ? { address: formatAddress(address) } : {}),
  }
}

function bankAccountOf(text: string): Pick<Party, 'iban' | 'sortCode' | 'routingNumber' | 'accountNumber'> {
  const domestic = parseDomesticAccount(text)
  if (domestic === undefined) return { iban: text }
  const { system: _system, ...account } = domestic
  return account
}

type PayoutTypes = { readonly withdrawal: TransactionType; readonly refund: TransactionType }

/** Returns the types of a payout's transaction, and of the transaction that returns its money. */
export function transactionTypes(payout: {
  readonly currency: Currency
  readonly customerId: string | null
  readonly isExchanged: boolean
  readonly operation: string
}): PayoutTypes {
  const { currency, customerId, isExchanged, operation } = payout
  // The payment that it refunds is a `CustomerDeposit`.
  if (operation === 'createCheckoutRefund') return { withdrawal: 'CustomerRefund', refund: 'CustomerRefund' }
  if (!isFiat(currency)) return { withdrawal: 'TokenTransferOut', refund: 'TokenTransferIn' }
  if (customerId === null) return { withdrawal: 'PartnerWithdraw', refund: 'PartnerDeposit' }
  // The customer receives its own money: what was bought for it.
  if (isExchanged) return { withdrawal: 'CustomerWithdraw', refund: 'CustomerRefund' }
  return { withdrawal: 'PartnerCustomerWithdraw', refund: 'PartnerCustomerRefund' }
}

/**
 * Derives the end-to-end id: 32 hexadecimal digits (ISO 20022 permits 35 characters, Max35Text). It is also the id of
 * the instruction, and is sent unless the partner gave its own (`endToEndIdSent`). It depends on the partner, the
 * operation and the idempotency key, so that a bank recognises a payout that its partner repeats after the database was
 * restored to an earlier time. Without a key, it is the payout's id.
 */
export function deriveEndToEndId(payout: {
  readonly id: string
  readonly partnerId: string
  readonly operation: string
  readonly idempotencyKey: string | null
}): string {
  const { id, partnerId, operation, idempotencyKey } = payout
  if (idempotencyKey === null) return id.replaceAll('-', '')
  const hex = hash('sha256', JSON.stringify([partnerId, operation, idempotencyKey]), 'hex')
  // A UUID of version 8 (RFC 9562), which never equals the id of another payout.
  return `${hex.slice(0, 12)}8${hex.slice(13, 16)}8${hex.slice(17, 32)}`
}

/** Returns the end-to-end id of the payment message, of the transaction and in reports. */
export const endToEndIdSent = (payout: {
  readonly endToEndId: string
  readonly partnerEndToEndId: string | null
}): string => payout.partnerEndToEndId ?? payout.endToEndId

/** Returns the id under which the bank knows the payout, as a UUID. */
export const instructionIdOf = ({ endToEndId }: { readonly endToEndId: string }): string =>
  endToEndId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Delays between attempts while the bank is unreachable. After the last attempt an instruction that never arrived fails. */
const retryDelaysMs = [1, 2, 5, 15, 60].map((seconds) => seconds * secondMs)
export const retryDelayMsMax = 5 * minuteMs

export function retryDelayAfter(attempts: number): number {
  return retryDelaysMs[attempts - 1] ?? retryDelayMsMax
}
