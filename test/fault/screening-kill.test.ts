/**
 * SIGKILL of a worker at each boundary of a commit, while money of a listed customer comes in, waits, and is decided about; another
 * worker continues. The money is credited or frozen once, each event occurs once, and the ledger balances.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import {
  addHolder,
  amount,
  decideAll,
  listedName,
  sampleList,
  screenAll,
  sendCredit,
  depositState,
} from '../support/screening/held.ts'

/** Fewer points mean that the worker did not run, or that its commits are not counted. */
const pointsMin = 10

const service = await useModules({ stepMs: 0 })
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
await service.screening.lists.load(await sampleList(), 'Sam Staff')

/** The work of the next worker, after the leases of the killed one have ended. */
async function finish(partnerId: string, outcome: 'clear' | 'confirm'): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    service.clock.advance(2 * minuteMs)
    await screenAll(service)
    await processBankNotifications(service.settlement)
    await screenAll(service)
    await decideAll(service, partnerId, outcome)
    await service.deposits.screenDue(100)
  }
}

const eventsOf = async (partnerId: string) =>
  (
    await service.db.rows<{ type: string }>(
      sql`select type from events.events where partner_id = ${partnerId} and type like '%deposit%' order by id`,
    )
  ).map(({ type }) => type.replace('partner.customer.', ''))

for (const outcome of ['clear', 'confirm'] as const)
  test(`after a kill while money is held, the decision to ${outcome} takes effect exactly once`, async (t) => {
    await killAtCrashPoints(t, { worker: 'screening', pointsMin }, async (runWorker) => {
      const { partnerId, iban } = await addHolder(service, listedName)
      await sendCredit(service, iban)
      await runWorker(service, { partnerId, outcome })
      await finish(partnerId, outcome)
      const { statuses, balance, suspense, settlement, openCases } = await depositState(service, partnerId)
      const isFrozen = outcome === 'confirm'
      assert.deepEqual(statuses, [isFrozen ? 'Failed' : 'Completed'])
      assert.deepEqual([balance, suspense, settlement], isFrozen ? [0n, amount, -amount] : [amount, 0n, -amount])
      assert.deepEqual(openCases, isFrozen ? [`sanctions_hold ${amount}`] : [])
      assert.deepEqual(await eventsOf(partnerId), ['deposit.accepted', `deposit.${isFrozen ? 'failed' : 'completed'}`])
      await checkLedger(service.db, partnerId)
    })
  })
