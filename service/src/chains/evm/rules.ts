/** The decisions of a chain connector. Pure. */
import { createHash } from 'node:crypto'
import { type Currency, deriveTimeId, firstIdOf } from '../../kernel/index.ts'
import type { ErrorKey } from '@partner-payments/wire'
import { addressProblem, type Instruction, zeroAddress } from '../../rails/index.ts'
import type { Fees, TransferLog } from './node.ts'

/** Raises a fee: nodes accept a replacement if both fees are an eighth higher. One more wei covers the rounding. */
const raiseFee = (fee: bigint): bigint => fee + fee / 8n + 1n

/** Computes the fees of the next attempt with the same nonce; undefined if they exceed the limit. */
export function nextFees(last: Fees, now: Fees, feeMax: bigint): Fees | undefined {
  const max = raiseFee(last.max) > now.max ? raiseFee(last.max) : now.max
  const priority = raiseFee(last.priority) > now.priority ? raiseFee(last.priority) : now.priority
  return max > feeMax ? undefined : { max, priority: priority > max ? max : priority }
}

/** Computes the fees of the first attempt, at most the limit. Above the limit the transaction waits for lower fees. */
export function firstFees(now: Fees, feeMax: bigint): Fees {
  const max = now.max > feeMax ? feeMax : now.max
  return { max, priority: now.priority > max ? max : now.priority }
}

/** Adds a reserve: the gas of a transfer may grow until it is mined, because a first payment to an address writes a new slot. */
export const gasWithReserve = (gas: bigint): bigint => gas + gas / 4n + 5000n

export type RefusedTransfer = {
  readonly errorKey: ErrorKey
  readonly details: string
  readonly reasonCode: string | null
}

const refusal = (errorKey: ErrorKey, details: string, reasonCode: string): RefusedTransfer => ({
  errorKey,
  details,
  reasonCode,
})

/** Addresses that must not be paid, in lower case. */
export type ForbiddenAddresses = {
  readonly contracts: ReadonlySet<string>
  readonly denied: ReadonlySet<string>
  readonly sender: string
}

/** Checks an instruction before its transaction is signed. Returns the refusal, or undefined. */
export function checkInstruction(
  { creditorAccount, currency }: Instruction,
  tokens: Readonly<Partial<Record<Currency, string>>>,
  { contracts, denied, sender }: ForbiddenAddresses,
): RefusedTransfer | undefined {
  if (tokens[currency] === undefined)
    return refusal('CurrencyNotAccepted', 'This token is not supported on the chain.', 'AM03')
  const recipient = creditorAccount.toLowerCase()
  if (addressProblem(creditorAccount) !== undefined || recipient === zeroAddress)
    return refusal('InvalidWalletAddress', 'The address is not a wallet address.', 'AC01')
  if (contracts.has(recipient))
    return refusal(
      'InvalidWalletAddress',
      'The address is that of a token contract: tokens sent there are lost.',
      'AC01',
    )
  if (recipient === sender)
    return refusal('InvalidWalletAddress', 'The address is the sending account of the service.', 'AC01')
  if (denied.has(recipient)) return refusal('RecipientBlocked', 'The recipient is on a deny list.', 'RR04')
  return undefined
}

/** Maps the text of a reverting contract to a refusal. Undefined: the transfer may succeed later, so that the payment waits. */
export function explainRevert(reason: string): RefusedTransfer | undefined {
  if (/blacklist|blocklist|blocked|frozen|denied|sanction/i.test(reason))
    return refusal('RecipientBlocked', 'The issuer of the token has blocked the recipient.', 'RR04')
  if (/paused|insufficient funds|exceeds balance|insufficient balance/i.test(reason)) return undefined
  return revertRefusal
}

export const revertRefusal = refusal('BankRejection', 'The token contract refused the transfer.', 'MS03')
export const replacementRefusal = refusal(
  'BankRejection',
  'Another transaction of the sending account replaced the payment.',
  'DU01',
)
export const reorgRefusal = refusal(
  'BankRejection',
  'The chain dropped the block with the payment and did not include the payment again.',
  'MS03',
)

/** Derives a UUID from names. */
const derivedId = (...names: readonly string[]): string => deriveTimeId(firstIdOf(new Date(0)), ...names)

export type NumberedLog = TransferLog & {
  /** The id of a movement, which does not depend on the block of its transaction. */
  readonly id: string
}

/**
 * Gives logs stable ids. A reorganised chain may include a transaction in another block, where its logs have other
 * positions. Its n-th transfer of the same amount between the same addresses is the same movement.
 */
export function numberLogs(connector: string, logs: readonly TransferLog[]): readonly NumberedLog[] {
  const counts = new Map<string, number>()
  return logs.map((log) => {
    const { transactionHash, currency, from, to, amount } = log
    const names = [connector, transactionHash, currency, from, to, String(amount)]
    const key = names.join(' ')
    const ordinal = counts.get(key) ?? 0
    counts.set(key, ordinal + 1)
    return { ...log, id: derivedId('movement', ...names, String(ordinal)) }
  })
}

/** Derives the id of a booking of a credit. A movement that vanished and reappeared is booked under another id. */
export const bookingId = (creditId: string, booking: number): string => derivedId('booking', creditId, String(booking))
/** Derives the id of the outgoing side of a movement between two of our addresses. */
export const departureId = (movementId: string): string => derivedId('departure', movementId)

/** Derives a hash for the simulated chain. */
export const simulatedHash = (...names: readonly string[]): string =>
  `0x${createHash('sha256').update(names.join('\n')).digest('hex')}`
