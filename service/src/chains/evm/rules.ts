/** Pure: the decisions of a chain connector. */
import { createHash } from 'node:crypto'
import { type Currency, derivedTimeId, firstIdOf } from '../../kernel/index.ts'
import type { ErrorKey } from '@partner-payments/wire'
import { addressProblem, type Instruction, zeroAddress } from '../../rails/index.ts'
import type { Fees, TransferLog } from './node.ts'

/** Nodes accept a replacement if both fees are an eighth higher. One more wei covers the rounding. */
const bumped = (fee: bigint): bigint => fee + fee / 8n + 1n

/** The fees of the next attempt with the same nonce. Undefined: the limit permits no replacement. */
export function feesOfNext(last: Fees, now: Fees, feeMax: bigint): Fees | undefined {
  const max = bumped(last.max) > now.max ? bumped(last.max) : now.max
  const priority = bumped(last.priority) > now.priority ? bumped(last.priority) : now.priority
  return max > feeMax ? undefined : { max, priority: priority > max ? max : priority }
}

/** The fees of the first attempt, at most the limit. Above it the transaction waits until the chain is cheaper. */
export function firstFees(now: Fees, feeMax: bigint): Fees {
  const max = now.max > feeMax ? feeMax : now.max
  return { max, priority: now.priority > max ? max : now.priority }
}

/** The gas of a transfer may grow until it is mined: a first payment to an address writes a new slot. */
export const gasWithReserve = (gas: bigint): bigint => gas + gas / 4n + 5000n

export type RefusedTransfer = {
  readonly errorKey: ErrorKey
  readonly details: string
  readonly reasonCode: string | null
}

const refused = (errorKey: ErrorKey, details: string, reasonCode: string): RefusedTransfer => ({
  errorKey,
  details,
  reasonCode,
})

/** Addresses that lose or block tokens. All in lower case. */
export type Forbidden = {
  readonly contracts: ReadonlySet<string>
  readonly denied: ReadonlySet<string>
  readonly sender: string
}

/** The reason to refuse an instruction before anything is signed. Undefined: it is not refused. */
export function refusalOf(
  { creditorAccount, currency }: Instruction,
  tokens: Readonly<Partial<Record<Currency, string>>>,
  { contracts, denied, sender }: Forbidden,
): RefusedTransfer | undefined {
  if (tokens[currency] === undefined)
    return refused('CurrencyNotAccepted', 'The chain does not carry this token.', 'AM03')
  const recipient = creditorAccount.toLowerCase()
  if (addressProblem(creditorAccount) !== undefined || recipient === zeroAddress)
    return refused('InvalidWalletAddress', 'The address is not the address of a wallet.', 'AC01')
  if (contracts.has(recipient))
    return refused(
      'InvalidWalletAddress',
      'The address is the contract of a token, which keeps what it is sent.',
      'AC01',
    )
  if (recipient === sender)
    return refused('InvalidWalletAddress', 'The address is the one from which the service pays.', 'AC01')
  if (denied.has(recipient)) return refused('RecipientBlocked', 'The recipient is on a deny list.', 'RR04')
  return undefined
}

/** The refusal that the text of a reverting contract means. Undefined: it may pass later, so that the payment waits. */
export function refusalOfRevert(reason: string): RefusedTransfer | undefined {
  if (/blacklist|blocklist|blocked|frozen|denied|sanction/i.test(reason))
    return refused('RecipientBlocked', 'The issuer of the token has blocked the recipient.', 'RR04')
  if (/paused|insufficient funds|exceeds balance|insufficient balance/i.test(reason)) return undefined
  return revertedTransfer
}

export const revertedTransfer = refused('BankRejection', 'The contract of the token refused the transfer.', 'MS03')
export const displacedTransfer = refused(
  'BankRejection',
  'Another transaction of the sending account replaced the payment.',
  'DU01',
)
export const vanishedTransfer = refused(
  'BankRejection',
  'The chain dropped the block with the payment, and did not make the payment again.',
  'MS03',
)

/** A UUID from names: the same names give the same id. */
const idOf = (...names: readonly string[]): string => derivedTimeId(firstIdOf(new Date(0)), ...names)

export type NumberedLog = TransferLog & {
  /** The id of a movement, whichever block contains its transaction. */
  readonly id: string
}

/**
 * A reorganised chain may put a transaction into another block, where its logs have other positions. Its n-th transfer
 * of the same amount between the same addresses is the same movement.
 */
export function numbered(connector: string, logs: readonly TransferLog[]): readonly NumberedLog[] {
  const counts = new Map<string, number>()
  return logs.map((log) => {
    const { transactionHash, currency, from, to, amount } = log
    const names = [connector, transactionHash, currency, from, to, String(amount)]
    const key = names.join(' ')
    const ordinal = counts.get(key) ?? 0
    counts.set(key, ordinal + 1)
    return { ...log, id: idOf('movement', ...names, String(ordinal)) }
  })
}

/**
 * The id under which the service knows a booking of a credit: a movement that vanished and came back is booked under
 * another.
 */
export const bookingIdOf = (creditId: string, booking: number): string => idOf('booking', creditId, String(booking))
/** The id of the outgoing side of a movement between two addresses of ours. */
export const departureIdOf = (movementId: string): string => idOf('departure', movementId)

/** A hash on the simulated chain that cannot be mistaken for a real one. */
export const hashOf = (...names: readonly string[]): string =>
  `0x${createHash('sha256').update(names.join('\n')).digest('hex')}`
