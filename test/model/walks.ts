/**
 * Follows payments from one check to the next: each has followed its table of transitions, and its timeline has exactly
 * those steps. payments.ts has the permitted timelines and events, from the contract page.
 */
import assert from 'node:assert/strict'
import type { Lifecycle } from '../../service/src/lifecycle/index.ts'
import { depositLifecycle } from '../../service/src/deposits/lifecycle.ts'
import { payoutLifecycle } from '../../service/src/payouts/lifecycle.ts'
import { sql, type Tx } from '../../service/src/postgres/index.ts'
import { leads } from '../lifecycle/walk.ts'

type Place = { readonly status: string; readonly steps: readonly string[] }
/** Status of each payment at the previous check. */
export type Places = Map<string, Place>

const lifecycles: Readonly<Record<string, Lifecycle>> = { payout: payoutLifecycle, deposit: depositLifecycle }

const placesOf = (tx: Tx, partnerId: string) =>
  tx.rows<Place & { readonly id: string; readonly subject: string }>(sql`
    select subject, payment.id, payment.status,
      array(select entry ->> 'step' from jsonb_array_elements(timeline) with ordinality as entries (entry, position)
        order by position) as steps
    from (
      select 'payout' as subject, id, status, transaction_id from payouts.payouts where partner_id = ${partnerId}
      union all
      select 'deposit', id, status, transaction_id from deposits.deposits where partner_id = ${partnerId}
    ) as payment join transactions.transactions as transaction
      on transaction.partner_id = ${partnerId} and transaction.id = payment.transaction_id`)

export async function checkWalks(tx: Tx, partnerId: string, places: Places): Promise<void> {
  for (const { subject, id, status, steps } of await placesOf(tx, partnerId)) {
    const earlier = places.get(id)
    const added = steps.slice(earlier?.steps.length ?? 0)
    const lifecycle = lifecycles[subject]
    assert.ok(lifecycle)
    const way = `${subject} ${earlier?.status ?? '[*]'} -> ${status} (${added.join(' ')})`
    assert.deepEqual(steps.slice(0, earlier?.steps.length), earlier?.steps ?? steps, `${subject}: no step is removed`)
    assert.ok(leads(lifecycle, earlier?.status, status, added), `no rows of the table lead there: ${way}`)
    places.set(id, { status, steps })
  }
}
