/**
 * A hostile day of two processes on one database: no operation ends with anything but a success or a refusal, and afterwards the
 * ledger agrees with its transfers and suspense with the open cases. `npm run test:faults -- hostile-day` runs 5,000 operations.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { compareRows } from '../../service/src/integrity/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { drawSeed } from '../support/drawing.ts'
import { scaled } from '../support/faults.ts'
import { drain, liveThrough, startHostileDay } from '../support/hostile-day.ts'

const operations = scaled(400, 5_000)
const partners = scaled(2, 6)

test(`${operations} hostile operations: no fault, and every amount is where the records say`, async (t) => {
  const day = await startHostileDay(drawSeed(t), partners)
  t.after(() => Promise.all(day.services.toReversed().map((service) => service.close())))
  const [{ db }] = day.services
  await liveThrough(day, operations)
  await drain(day)
  t.diagnostic([...day.counts].map(([name, { done, refused }]) => `${name} ${done}+${refused}`).join(', '))
  assert.deepEqual(day.faults, [])
  for (const partnerId of [operatorPartnerId, ...day.actors.map(({ partner }) => partner.partnerId)]) {
    for await (const findings of compareRows(db, partnerId)) assert.deepEqual(findings, [])
    await checkLedger(db, partnerId)
    const wrong = await db.rows(sql`
      select currency, sum(posted) as posted from ledger.accounts where partner_id = ${partnerId}
      group by currency having sum(posted) <> 0`)
    assert.deepEqual(wrong, [], 'every currency sums to zero')
  }
})
