/**
 * SIGKILL of the process that erases a customer with several pages of payments, before and after each of its commits; another
 * process continues. The erasure ends once, and no page is half erased.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { addPartner, pay } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

/** The page of an erasure (`erasedPerPageMax` in service/src/app/personal-data.ts). */
const rowsPerPage = 500
const payments = 2 * rowsPerPage + 1
/** Three pages of details, of payments and of payouts, the request and the end of retention, each with a point before and after. */
const pointsMin = 2 * (3 * 3 + 2)

const service = await useModules()

async function runErasures(): Promise<void> {
  while ((await service.personalData.erasures.step()) > 0) service.clock.advance(1)
}

type Counts = { readonly withDetails: bigint; readonly withParties: bigint; readonly payees: bigint }

/** How many payments still say what a page erases, and what the customer's row says. */
async function countsOf(partnerId: string, customerId: string): Promise<Counts> {
  const row = await service.db.row<Counts>(sql`
    select count(*) filter (where beneficiary_alias is not null) as with_details,
      count(*) filter (where creditor is not null or user_reference is not null) as with_parties,
      (select count(*) from payouts.payouts
       where partner_id = ${partnerId} and customer_id = ${customerId} and creditor_name <> '') as payees
    from transactions.transactions where partner_id = ${partnerId} and customer_id = ${customerId}`)
  return row ?? assert.fail()
}

const isWholePages = (left: bigint) => left === 0n || (BigInt(payments) - left) % BigInt(rowsPerPage) === 0n

/** A killed process leaves the customer as it was, or a tombstone; and of each page all or nothing. */
async function assertBetween(partnerId: string, customerId: string): Promise<void> {
  const counts = await countsOf(partnerId, customerId)
  for (const left of Object.values(counts))
    assert.ok(
      isWholePages(left),
      JSON.stringify(counts, (_, n) => String(n)),
    )
  const tombstone = await service.db.row<{
    email: string | null
    tokens: bigint
    isErased: boolean
    erasures: bigint
  }>(sql`
    select email, erased_at is not null as is_erased,
      (select count(*) from customers.name_tokens where partner_id = ${partnerId} and customer_id = ${customerId}) as tokens,
      (select count(*) from customers.erasures where partner_id = ${partnerId} and customer_id = ${customerId}) as erasures
    from customers.customers where partner_id = ${partnerId} and id = ${customerId}`)
  const found = await service.customers.get(partnerId, customerId).then(
    ({ email }) => email,
    () => undefined,
  )
  assert.ok(tombstone)
  const { isErased } = tombstone
  assert.deepEqual(
    [tombstone.email, tombstone.erasures, found],
    isErased ? [null, 1n, undefined] : ['ada@example.com', 0n, 'ada@example.com'],
  )
  if (isErased) assert.equal(tombstone.tokens, 0n)
  if (!isErased) assert.equal(counts.withDetails, BigInt(payments))
}

test('an erasure whose process is killed at any point is completed once by another process', async (t) => {
  await killAtCrashPoints(t, { worker: 'erasure', pointsMin }, async (runWorker) => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId, customer } = partner
    await service.beneficiaries.update(partnerId, { id: partner.beneficiary.id, alias: 'The payee' })
    const made = await Promise.all(Array.from({ length: payments }, () => pay(service, partner, '1.00')))
    await Promise.all(made.map(({ payout }) => service.payouts.cancel(partnerId, payout.id)))
    await runWorker(service, { partnerId, customerId: customer.id })
    await assertBetween(partnerId, customer.id)

    // The partner repeats the request, because the answer of a killed process is lost.
    await service.personalData.erasures.erase(partnerId, customer.id, true)
    await runErasures()
    service.clock.advance(7 * 366 * dayMs)
    await runErasures()
    const { row, retainedFields } = await service.personalData.erasures.erase(partnerId, customer.id, true)
    assert.deepEqual([row.phase, retainedFields], ['done', []])
    assert.deepEqual(await countsOf(partnerId, customer.id), { withDetails: 0n, withParties: 0n, payees: 0n })
    await assertBetween(partnerId, customer.id)
    const { data: records } = await service.audit.list(partnerId, { limit: '5' })
    assert.deepEqual(
      pluck(
        records.filter(({ action }) => action === 'customer.erased'),
        'subject',
      ),
      [{ customerId: customer.id }],
    )
    await checkLedger(service.db, partnerId)
  })
})
