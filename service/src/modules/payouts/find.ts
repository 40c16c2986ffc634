/** Finds payouts by what a person knows of them: an id, a reference or an amount. */
import type { WithdrawalSearch, TransactionView } from '../transactions/index.ts'
import type { PayoutsDeps } from './deps.ts'
import * as store from './store.ts'

/** `id`: of the payout or of its instruction, or the end-to-end id. */
export type PayoutSearch = { readonly id: string } | WithdrawalSearch
export type FoundPayout = { readonly payout: store.PayoutRow; readonly transaction: TransactionView }

/** At most `payoutsMax` payouts of a partner, newest first. */
export type Find = (partnerId: string, search: PayoutSearch, payoutsMax: number) => Promise<readonly FoundPayout[]>

const hexOfUuid = /^[0-9a-f]{32}$/

export function createFind({ db, transactions }: PayoutsDeps): Find {
  const payoutsLike = async (partnerId: string, search: WithdrawalSearch, rowsMax: number) => {
    const withdrawals = await transactions.withdrawalsLike(db, partnerId, search, rowsMax)
    const ids = new Set(withdrawals.map(({ id }) => id))
    const endToEndIds = withdrawals.flatMap(({ endToEndId }) => endToEndId ?? [])
    const payouts = await store.payoutsKnownAs(db, partnerId, { ids: [], endToEndIds })
    return payouts.filter(({ transactionId }) => ids.has(transactionId))
  }
  return async (partnerId, search, payoutsMax) => {
    const payouts =
      'id' in search
        ? await store.payoutsKnownAs(db, partnerId, namesOf(search.id))
        : await payoutsLike(partnerId, search, payoutsMax)
    return Promise.all(
      payouts.map(async (payout) => ({ payout, transaction: await transactions.get(partnerId, payout.reference) })),
    )
  }
}

/** An id is written with hyphens or without, in either case; an end-to-end id as the bank has it. */
function namesOf(text: string) {
  const hex = text.replaceAll('-', '').toLowerCase()
  return { ids: hexOfUuid.test(hex) ? [hex] : [], endToEndIds: [text, hex] }
}
