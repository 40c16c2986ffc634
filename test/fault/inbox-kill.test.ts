/** SIGKILL of the worker of the inbox before and after each of its commits; another worker tells each thing once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { addApprovers } from '../support/approvals.ts'
import { pay } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import { addMember } from '../support/inbox.ts'

const payouts = 5
const settings = { INBOX_GATHER_SECONDS: '0' }

const service = await useModules({ settings })

test('after a kill at any point, each person has one inbox entry for each payout, in one mail', async (t) => {
  await killAtCrashPoints(t, { worker: 'inbox', pointsMin: 4 }, async (runWorker) => {
    const partner = await addApprovers(service, { aboveAmount: 50_00n })
    const { partnerId } = partner
    const approvers = [
      await addMember(service, partnerId, 'Operator', 'Alan Approver'),
      await addMember(service, partnerId, 'Admin', 'Ada Admin'),
    ]
    for (let made = 0; made < payouts; made += 1) await pay(service, partner, '70.00')
    await runWorker(service, {})
    while ((await service.inbox.spreadStep()) > 0);
    while ((await service.inbox.mailStep()) > 0);
    for (const approver of approvers) {
      const { entries } = await service.inbox.page(approver, 'en', { beforeId: null, rowsMax: 50 })
      assert.equal(entries.filter(({ title }) => title.includes('waits for your approval')).length, payouts)
      const mails = await service.db.rows<{ readonly data: string }>(sql`select data from mail.messages
        where partner_id = ${partnerId} and kind = 'inbox' and to_address = ${approver.email}`)
      // The worker tells what it has found; a further mail has only what came after it.
      assert.equal(mails.length, 1)
    }
    const left = await service.db.rows(
      sql`select id from inbox.facts where partner_id = ${partnerId} and due_at <= ${service.clock.now()}`,
    )
    assert.equal(left.length, 0)
  })
})
