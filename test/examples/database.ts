/** Changes the database of the examples directly, in ways that the API does not offer. */
import { randomUUID } from 'node:crypto'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import type { Answer } from '../support/client.ts'

type Stage = { readonly service: { readonly credentials: { readonly partnerId: string } }; readonly db: Database }

/**
 * Sets a limit as the operator's command does, which the API does not offer: 10.00 EUR for each payout to one
 * beneficiary.
 */
export async function limitPayouts({ service, db }: Stage, beneficiary: string): Promise<void> {
  const { partnerId } = service.credentials
  await db.run(sql`
    update ledger.accounts set controlled = true, controls_changed = coalesce(controls_changed, 0) + 1
    where partner_id = ${partnerId} and name = 'balance' and currency = 'EUR'`)
  await db.run(sql`
    insert into payouts.limits (partner_id, id, scope, scope_id, currency, period, amount, created_at, updated_at)
    values (${partnerId}, ${randomUUID()}, 'beneficiary', ${beneficiary}, 'EUR', 'payment', 1000, now(), now())`)
}

/** Locks the balance of the partner meanwhile, so that a payout waits until its lock times out. */
export async function withLockedBalance(stage: Stage, request: () => Promise<Answer>): Promise<Answer> {
  return stage.db.transaction(async (tx) => {
    await tx.rows(sql`
      select id from ledger.accounts where partner_id = ${stage.service.credentials.partnerId} for update`)
    return request()
  })
}
