/** Finds payouts by the details that an operator has, by the instruction that a bank names, and by money. */
import { type Currency, firstIdOf, type Minor } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { WithdrawalSearch, TransactionView } from '../transactions/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { instructionIdOf, type PayoutStatus } from './rules.ts'
import * as store from './store.ts'
import * as reads from './store-reads.ts'

/** `id`: of the payout or of its instruction, or the end-to-end id, ours or the partner's. */
export type PayoutSearch = { readonly id: string } | WithdrawalSearch
export type FoundPayout = { readonly payout: store.PayoutRow; readonly transaction: TransactionView }

/** Finds at most `payoutsMax` payouts of a partner, newest first. */
export type Find = (partnerId: string, search: PayoutSearch, payoutsMax: number) => Promise<readonly FoundPayout[]>

const hexOfUuid = /^[0-9a-f]{32}$/

export function createFind({ db, transactions }: PayoutsDeps): Find {
  const payoutsLike = async (partnerId: string, search: WithdrawalSearch, rowsMax: number) => {
    const withdrawals = await transactions.withdrawalsLike(db, partnerId, search, rowsMax)
    if (withdrawals.length === 0) return []
    const ids = new Set(withdrawals.map(({ id }) => id))
    const endToEndIds = withdrawals.flatMap(({ endToEndId }) => endToEndId ?? [])
    const references = withdrawals.map(({ reference }) => reference)
    const payouts = await store.payoutsKnownAs(db, partnerId, { ids: [], endToEndIds, references })
    return payouts.filter(({ transactionId }) => ids.has(transactionId))
  }
  const named = async (partnerId: string, id: string, rowsMax: number) => {
    const payouts = await store.payoutsKnownAs(db, partnerId, namesOf(id))
    // A partner may give one end-to-end id to any number of payouts.
    const ofPartner = { endToEndId: id, reference: null, money: null, from: null, before: null }
    return payouts.length > 0 ? payouts : payoutsLike(partnerId, ofPartner, rowsMax)
  }
  return async (partnerId, search, payoutsMax) => {
    const payouts =
      'id' in search ? await named(partnerId, search.id, payoutsMax) : await payoutsLike(partnerId, search, payoutsMax)
    return Promise.all(
      payouts.map(async (payout) => ({ payout, transaction: await transactions.get(partnerId, payout.reference) })),
    )
  }
}

/**
 * The ids that a text may mean. An id may have hyphens or not, in either case; an end-to-end id is as the bank has it.
 */
function namesOf(text: string) {
  const hex = text.replaceAll('-', '').toLowerCase()
  return { ids: hexOfUuid.test(hex) ? [hex] : [], endToEndIds: [text, hex], references: [] }
}

type InstructionKey = { readonly partnerId: string; readonly instructionId: string }

/** Instructions are stored by their ids without hyphens, which are end-to-end ids. */
const keyOf = ({ partnerId, instructionId }: InstructionKey) => ({
  partnerId,
  endToEndId: instructionId.replaceAll('-', ''),
})

/** The id of an instruction's payout. Undefined: no payout of the partner has it. */
export async function payoutOfInstruction(tx: Tx, key: InstructionKey): Promise<string | undefined> {
  const [row] = await store.payoutsOfInstructions(tx, [keyOf(key)])
  return row?.id
}

/** The id of a payout's instruction. If no payout matches, the id is already that of an instruction. */
export async function instructionOf(tx: Tx, partnerId: string, payoutId: string): Promise<string> {
  const row = await reads.endToEndIdOf(tx, partnerId, payoutId)
  return row === undefined ? payoutId : instructionIdOf(row)
}

/** The statuses of the payouts that instructions name, by the id of the instruction. Unknown ones are absent. */
export async function statusesOf(tx: Tx, keys: readonly InstructionKey[]): Promise<ReadonlyMap<string, PayoutStatus>> {
  const named = keys.map(keyOf)
  const groups = tx.sharded ? [...Map.groupBy(named, ({ partnerId }) => partnerId).values()] : [named]
  const found = new Map<string, PayoutStatus>()
  for (const group of groups.filter(({ length }) => length > 0))
    for (const { endToEndId, status } of await reads.statusesOfInstructions(tx, group))
      found.set(instructionIdOf({ endToEndId }), status)
  return found
}

const ofAmountMax = 100

/** Payouts of a partner with this amount, made since a time, newest first. */
export const payoutsOfAmount = (
  tx: Tx,
  partnerId: string,
  money: { readonly currency: Currency; readonly amount: Minor },
  since: Date,
): Promise<readonly reads.PayoutOfAmount[]> =>
  reads.payoutsOfAmount(tx, partnerId, { ...money, after: firstIdOf(since), rowsMax: ofAmountMax })
