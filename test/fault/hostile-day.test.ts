/**
 * A hostile day of two processes on one database: no operation ends with anything but a success or a refusal, and afterwards the
 * ledger agrees with its transfers, suspense with the open cases, refunds with what was paid, what rules and names hold with what persons decided, and
 * no cent of a held customer has moved without a decision. `npm run test:faults -- hostile-day` runs 5,000 operations.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { drawSeed } from '../support/drawing.ts'
import { scaled } from '../support/faults.ts'
import { checkRefunds } from '../support/hostile-checkout.ts'
import { checkHeldMoney, checkParts } from '../support/hostile-holds.ts'
import { drain, liveThrough, startHostileDay } from '../support/hostile-day.ts'
import { checkPayees, finishPayees } from '../support/hostile-payees.ts'
import { checkHolds, decideAll } from '../support/hostile-rules.ts'
import { ledgerFindings } from '../support/integrity.ts'

const operations = scaled(400, 5_000)
const partners = scaled(2, 6)

test(`${operations} hostile operations cause no fault, and every amount agrees with the records`, async (t) => {
  const day = await startHostileDay(drawSeed(t), partners)
  t.after(() => Promise.all(day.services.toReversed().map((service) => service.close())))
  const [{ db }] = day.services
  await liveThrough(day, operations)
  await drain(day)
  await decideAll(day)
  await drain(day)
  await finishPayees(day)
  t.diagnostic([...day.counts].map(([name, { done, refused }]) => `${name} ${done}+${refused}`).join(', '))
  assert.deepEqual(day.faults, [])
  let refunds = 0
  const held = { open: 0, refused: 0, released: 0 }
  const names = { held: 0, left: 0 }
  const customers = { moves: 0, parts: 0 }
  for (const partnerId of [operatorPartnerId, ...day.actors.map(({ partner }) => partner.partnerId)]) {
    assert.deepEqual(await ledgerFindings(db, partnerId), [])
    await checkLedger(db, partnerId)
    refunds += await checkRefunds(db, partnerId)
    const ended = await checkHolds(db, partnerId, day.held)
    for (const way of ['open', 'refused', 'released'] as const) held[way] += ended[way]
    const [heldByName, left] = await checkPayees(db, partnerId)
    names.held += heldByName
    names.left += left
    customers.moves += await checkHeldMoney(db, partnerId)
    customers.parts += await checkParts(db, partnerId)
    const wrong = await db.rows(sql`
      select currency, sum(posted) as posted from ledger.accounts where partner_id = ${partnerId}
      group by currency having sum(posted) <> 0`)
    assert.deepEqual(wrong, [], 'every currency sums to zero')
  }
  t.diagnostic(
    `${refunds} refunds, payouts that rules held: ${JSON.stringify(held)}, payouts that names held: ${JSON.stringify(names)}, moves of customers with hits and their parts: ${JSON.stringify(customers)}`,
  )
})
