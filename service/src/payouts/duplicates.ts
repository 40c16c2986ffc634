/**
 * Judges which earlier payments a payment may repeat: to the same account, of the same amount and currency, and with the same reference within
 * a year, or made within some days (DUPLICATE_PAYMENT_DAYS). The account of a beneficiary never changes, so that an account also finds
 * what its beneficiary was paid, and what another beneficiary with the account was. Payouts that failed, were cancelled, rejected or
 * returned do not count; those that wait for an approval do.
 */
import { after, type Currency, dayMs, type Minor } from '../kernel/index.ts'
import { Refusal } from '../kernel/api/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { PayoutOperation } from './rules.ts'
import { type EarlierRow, earlierPayouts } from './store-duplicates.ts'

/** A payment that is asked about. */
export type DuplicateCandidate = {
  /** An IBAN, a domestic account or a wallet, as `creditorAccount` of a payout has it. */
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
  /** The reference that the partner gave. Null: none. */
  readonly reference: string | null
  /** The id of a payout that is made: only those before it count. */
  readonly id?: string
  /** The key under which it is made: the payout that has it is not a repetition, and neither are other dates of its standing order. */
  readonly key?: { readonly operation: PayoutOperation; readonly idempotencyKey: string }
}

export type EarlierPayout = Omit<EarlierRow, 'position'> & {
  /** `reference`: it has the same reference. `days`: it was made within some days. */
  readonly because: 'reference' | 'days'
}

export type Duplicates = {
  /** The payouts that the candidate may repeat, at most `earlierMax`: those with its reference first, then the newest. */
  readonly earlier: readonly EarlierPayout[]
  /** Positions of earlier candidates of the same list that it may repeat, at most `earlierMax`. */
  readonly positions: readonly number[]
}

/** Answers for each candidate, in their order. One statement, by an index. */
export type DuplicatesOf = (
  tx: Tx,
  partnerId: string,
  candidates: readonly DuplicateCandidate[],
  now: Date,
) => Promise<readonly Duplicates[]>

/** A person looks at some payments, not at hundreds. */
const earlierMax = 10
/** An invoice number is used again after a year or more: some companies begin with 1 every year. */
const referenceDays = 365

/** `days`: DUPLICATE_PAYMENT_DAYS. */
export const createDuplicates =
  (days: number): DuplicatesOf =>
  async (tx, partnerId, candidates, now) => {
    const since = days === 0 ? null : after(now, -days * dayMs)
    const rows = await earlierPayouts(
      tx,
      partnerId,
      candidates.map(({ account, amount, currency, reference, id, key }, position) => ({
        position,
        beforeId: id ?? null,
        account: account.toLowerCase(),
        amount,
        currency,
        referenceKey: comparable(reference) === null ? null : asciiOf(reference ?? ''),
        operation: key?.operation ?? null,
        key: key?.idempotencyKey ?? null,
        orderKeys: orderKeysOf(key),
      })),
      { since, sinceByReference: after(now, -referenceDays * dayMs), rowsEach: earlierMax },
    )
    const byPosition = Map.groupBy(rows, ({ position }) => position)
    const among = repeatedAmong(candidates, days)
    return candidates.map(({ reference }, position) => ({
      earlier: (byPosition.get(position) ?? []).flatMap(({ position: _position, ...row }): readonly EarlierPayout[] => {
        const because = reasonOf(reference, row.remittance, since !== null && row.createdAt >= since)
        return because === undefined ? [] : [{ ...row, because }]
      }),
      positions: among[position] ?? [],
    }))
  }

function reasonOf(
  reference: string | null,
  other: string | null,
  isRecent: boolean,
): EarlierPayout['because'] | undefined {
  const compared = comparable(reference)
  if (compared !== null && compared === comparable(other)) return 'reference'
  return isRecent ? 'days' : undefined
}

/** The refusal of a payout that may repeat another: possible_duplicate. */
export function possibleDuplicate({ id, reference, remittance, createdAt }: EarlierPayout): Refusal {
  const named = remittance === null || remittance === reference ? reference : `${reference} (${remittance})`
  return new Refusal(
    'possible_duplicate',
    `The payout may repeat ${named} of ${createdAt.toISOString()}, with the id ${id}. Look at it. Send this one with onDuplicate Allow if it is meant.`,
  )
}

/** The earlier candidates that each candidate may repeat. */
export function repeatedAmong(candidates: readonly DuplicateCandidate[], days: number): readonly (readonly number[])[] {
  const seen = new Map<string, number[]>()
  return candidates.map(({ account, amount, currency, reference }, position) => {
    const paid = `${account.toLowerCase()} ${amount} ${currency}`
    const others = seen.get(paid) ?? []
    const repeated: number[] = []
    for (const other of others)
      if (
        repeated.length < earlierMax &&
        reasonOf(reference, candidates[other]?.reference ?? null, days > 0) !== undefined
      )
        repeated.push(other)
    others.push(position)
    seen.set(paid, others)
    return repeated
  })
}

/** A reference without case, blanks and punctuation: `INV-2026/7` and `inv 2026 7` name one invoice. Null: it names none. */
export function comparable(reference: string | null): string | null {
  const text =
    reference
      ?.normalize('NFC')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]/gu, '') ?? ''
  return text === '' ? null : text
}

/** Equal for references that are comparable: PostgreSQL compares by it, because its lower case depends on its locale. */
const asciiOf = (reference: string): string => reference.replaceAll(/[^0-9A-Za-z]/g, '').toLowerCase()

/** The keys of one order differ in the date behind the last blank. */
const orderKeysOf = (key: DuplicateCandidate['key']): string | null =>
  key?.operation === 'createStandingOrder' ? key.idempotencyKey.slice(0, key.idempotencyKey.lastIndexOf(' ') + 1) : null
